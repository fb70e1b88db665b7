/** The roles of admin tokens; each may do what the ones before it may. */
export const ADMIN_ROLES = ["viewer", "operator", "admin"] as const;
/** `viewer` reads; `operator` also disables, enables and revokes keys; `admin` also makes, changes and rotates them. */
export type AdminRole = (typeof ADMIN_ROLES)[number];

/** The secret of one operator, with the name that the audit records. */
export interface AdminToken {
  readonly name: string;
  readonly token: string;
  /** Default: `admin`. */
  readonly role?: AdminRole;
  /** Default: never. */
  readonly expiresAt?: Date;
}

/** True if the role includes the other one. */
export function includesRole(role: AdminRole, needed: AdminRole): boolean {
  return ADMIN_ROLES.indexOf(role) >= ADMIN_ROLES.indexOf(needed);
}

/** @returns one sentence for each problem of the tokens. No sentence repeats a token. */
export function adminTokenProblems(tokens: readonly AdminToken[]): string[] {
  const problems = tokens.flatMap(({ name, token, role = "admin", expiresAt }, i) => [
    ...(/^[\w.@-]{1,64}$/.test(name)
      ? []
      : [`adminTokens[${i}] has no name of 1 to 64 letters, digits and _ . @ -`]),
    ...(/^[\x21-\x7e]{32,256}$/.test(token)
      ? []
      : [`adminTokens[${i}] is not 32 to 256 printable characters without spaces`]),
    ...(ADMIN_ROLES.includes(role) ? [] : [`adminTokens[${i}] has no role of ${ADMIN_ROLES.join(", ")}`]),
    ...(expiresAt !== undefined && Number.isNaN(expiresAt.getTime())
      ? [`adminTokens[${i}] has an expiry that is no time`]
      : []),
  ]);
  if (new Set(tokens.map(({ name }) => name)).size < tokens.length) {
    problems.push("adminTokens has the same name twice: the audit could not tell the tokens apart");
  }
  return problems;
}
