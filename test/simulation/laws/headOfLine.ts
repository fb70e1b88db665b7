import type { Behaviour } from "../behaviours/behaviour.js";
import type { PoolKind } from "../nodes/pool.js";

/** Whether wrappers that no block includes may keep their nonces for good, and the service has one key. */
export function isWithoutRemedy(
  behaviours: readonly Behaviour[],
  { keys, pool }: { readonly keys: number; readonly pool: PoolKind },
): boolean {
  return keys === 1 && pool !== "replaces" && behaviours.some(({ does }) => does.deed === "never include");
}

const BLOCKING: ReadonlySet<string> = new Set(["never include", "forget", "evict"]);

/** The number of senders whose wrappers pools lose, or no block includes. */
export function blockersIn(behaviours: readonly Behaviour[]): number {
  const blocking = behaviours.filter(({ does }) => BLOCKING.has(does.deed));
  return new Set(blocking.map(({ subject }) => subject.sender)).size;
}
