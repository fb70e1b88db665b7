import { tell } from "../behaviours/story.js";
import { drawWorld } from "../outside/drawWorld.js";
import type { WorldResult } from "../runWorld.js";
import { shrinkPlan } from "../shrink/shrinkPlan.js";
import type { WorldPlan } from "../world.js";
import { type ProcessesOptions, withProcesses } from "./processes.js";
import type { WorldOptions } from "./worldProcess.js";

export interface ReplayOptions extends ProcessesOptions {
  /** For the world that is told in the end. */
  readonly told: WorldOptions;
  /** Looks for a smaller world that breaks the same law. */
  readonly isShrunk: boolean;
  /** Called with each world that is tried. */
  onTry(plan: WorldPlan, isBroken: boolean): void;
}

/** Runs the world of a seed, or another plan, again: keeps its record, and shrinks it if it breaks a law. */
export async function replay(
  world: number | WorldPlan,
  { told, isShrunk, onTry, ...processes }: ReplayOptions,
): Promise<WorldResult> {
  const plan = typeof world === "number" ? drawWorld(world) : world;
  const results: WorldResult[] = [];
  await withProcesses(1, processes, async (process) => {
    const whole = await process.run(plan, told);
    results.push(whole);
    const law = whole.violations[0]?.law;
    if (law === undefined || !isShrunk) return;
    const breaks = async (smaller: WorldPlan) => {
      const { violations } = await process.run(smaller);
      processes.signal.throwIfAborted();
      const isBroken = violations.some((one) => one.law === law);
      onTry(smaller, isBroken);
      return isBroken;
    };
    const shrunk = await shrinkPlan(plan, breaks);
    results.push(await process.run(shrunk, told));
  });
  const result = results.at(-1);
  if (result === undefined) throw new Error("the world was not run");
  return result;
}

/** Tells a world: its parts, its behaviours and the laws that were broken. */
export function story({ plan, violations, digest }: WorldResult): string {
  const { seed, replicas, endpoints, keys, senders, submissions, settings, chain, behaviours } = plan;
  const nodes = chain.personalities.join(", ");
  return [
    `World ${seed} (digest ${digest}): ${count(replicas, "replica")}, ${count(keys, "key")}, ${count(endpoints, "endpoint")} (${nodes}; ` +
      `pools: ${chain.pool}; a block each ${chain.blockMs} ms), ${count(senders, "user")} with ${count(submissions, "submission")} each.`,
    `Settings: ${JSON.stringify(settings ?? {})}`,
    ...behaviours.map((behaviour) => `- ${tell(behaviour)}`),
    ...(violations.length === 0 ? ["No law is broken."] : ["Broken:"]),
    ...violations.map(({ law, text }) => `- ${law}: ${text}`),
  ].join("\n");
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}
