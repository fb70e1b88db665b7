import type { Behaviour } from "../behaviours/behaviour.js";
import type { PoolKind } from "../nodes/pool.js";

/** Whether wrappers that no block includes may keep a nonce of each key for good. */
export function isWithoutRemedy(
  behaviours: readonly Behaviour[],
  { keys, pool }: { readonly keys: number; readonly pool: PoolKind },
): boolean {
  return pool !== "replaces" && sendersOf(behaviours, ["never include"]) >= keys;
}

/** The number of senders whose wrappers pools lose, or no block includes. */
export function blockersIn(behaviours: readonly Behaviour[]): number {
  return sendersOf(behaviours, ["never include", "forget", "evict"]);
}

function sendersOf(behaviours: readonly Behaviour[], deeds: readonly string[]): number {
  const theirs = behaviours.filter(({ does }) => deeds.includes(does.deed));
  return new Set(theirs.map(({ subject }) => subject.sender)).size;
}
