import type { Server } from "@gas-waiver/server";

/** The service counts no further at its start. */
const MAX_COUNTED = 1_000;

/** @returns how many submissions the store already has, in words. */
export function earlierSubmissions({
  earlierSubmissions: count,
}: Pick<Server, "earlierSubmissions">): string {
  return `${count > MAX_COUNTED ? `more than ${MAX_COUNTED}` : count} earlier submission(s)`;
}
