import type { WorldPlan } from "../world.js";
import { ddmin } from "./ddmin.js";

/** The sizes of a world that can be smaller, in the order in which that is tried. */
const SIZES = ["replicas", "senders", "submissions", "keys"] as const;

/**
 * Finds a smaller world that still breaks the law: with the fewest behaviours, and then with fewer replicas, senders, submissions and
 * keys.
 * @param breaks runs a world, and tells whether it breaks the law.
 */
export async function shrinkPlan(
  plan: WorldPlan,
  breaks: (plan: WorldPlan) => Promise<boolean>,
): Promise<WorldPlan> {
  const behaviours = await ddmin(plan.behaviours, (part) => breaks({ ...plan, behaviours: part }));
  let smallest: WorldPlan = { ...plan, behaviours };
  for (const size of SIZES) {
    for (let count = 1; count < smallest[size]; count++) {
      const smaller = { ...smallest, [size]: count };
      if (!(await breaks(smaller))) continue;
      smallest = smaller;
    }
  }
  return smallest;
}
