/** The secret of one operator, with the name that the audit records. */
export interface AdminToken {
  readonly name: string;
  readonly token: string;
}

/** @returns one sentence for each problem of the tokens. No sentence repeats a token. */
export function adminTokenProblems(tokens: readonly AdminToken[]): string[] {
  const problems = tokens.flatMap(({ name, token }, i) => [
    ...(/^[\w.@-]{1,64}$/.test(name)
      ? []
      : [`adminTokens[${i}] has no name of 1 to 64 letters, digits and _ . @ -`]),
    ...(/^[\x21-\x7e]{32,256}$/.test(token)
      ? []
      : [`adminTokens[${i}] is not 32 to 256 printable characters without spaces`]),
  ]);
  if (new Set(tokens.map(({ name }) => name)).size < tokens.length) {
    problems.push("adminTokens has the same name twice: the audit could not tell the tokens apart");
  }
  return problems;
}
