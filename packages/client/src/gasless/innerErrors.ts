type Members = Readonly<Record<string, unknown>>;

/** The members in which wallets, viem, ethers and nodes keep the error of another one. */
const INNER = ["cause", "error", "data", "info", "originalError"] as const;

/**
 * Reads an error and those in it, the innermost first: that is the node's or the service's own.
 * @returns the first that `read` finds; undefined if it finds none.
 */
export function readInnermost<T>(
  error: unknown,
  read: (members: Members) => T | undefined,
  visited = new Set<unknown>(),
): T | undefined {
  if (typeof error !== "object" || error === null || visited.has(error)) return undefined;
  visited.add(error);
  const members = error as Members;
  for (const name of INNER) {
    const found = readInnermost(members[name], read, visited);
    if (found !== undefined) return found;
  }
  return read(members);
}

/** Returns what a node has said. The messages of viem's errors have the request in them as well. */
export function textOf({ details, message }: Members): string {
  return String(details ?? message);
}
