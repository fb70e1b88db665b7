import type { Behaviour } from "../behaviours/behaviour.js";
import type { PoolKind } from "../nodes/pool.js";

/** Whether wrappers that no block includes may keep their nonces for good, and the service has one key. */
export function isWithoutRemedy(
  behaviours: readonly Behaviour[],
  { keys, pool }: { readonly keys: number; readonly pool: PoolKind },
): boolean {
  return keys === 1 && pool !== "replaces" && behaviours.some(({ does }) => does.deed === "never include");
}
