import type { WorldPlan } from "./world.js";

/** Draws the world of a seed. */
export function planWorld(seed: number): WorldPlan {
  return {
    seed,
    replicas: 1,
    keys: 1,
    endpoints: 1,
    senders: 5,
    submissions: 4,
    lengthMs: 20_000,
    behaviours: [],
  };
}
