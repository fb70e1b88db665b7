/** A line of the table: a name, and what an account has before and after. */
export type Change = readonly [name: string, before: string, after: string];

/** Lays out a table whose numbers stand apart, however long they are. */
export function balanceTable(changes: readonly Change[]): string[] {
  const width = Math.max(15, ...changes.flatMap(([, before, after]) => [before.length, after.length]));
  return [["", "before", "after"] as const, ...changes].map(
    ([name, before, after]) => `  ${name.padEnd(18)}${before.padStart(width)}${after.padStart(width + 6)}`,
  );
}
