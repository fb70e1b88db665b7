import { drawWorld } from "../outside/drawWorld.js";
import type { WorldResult } from "../runWorld.js";
import { buildName } from "./buildName.js";
import { type ProcessesOptions, withProcesses } from "./processes.js";
import { outcomeOf, RunState, type WorldOutcome } from "./runState.js";

export { replay, story } from "./replay.js";
export { OtherBuildError } from "./runState.js";

export interface SimulationOptions extends ProcessesOptions {
  /** The first seed, and the number of seeds. */
  readonly seed: number;
  readonly runs: number;
  readonly processes: number;
  /** The file that keeps the worlds of the run, so that it can go on where it was stopped. */
  readonly state: string | undefined;
  /** Called after each world with the number of worlds that the run has behind it, earlier ones of its state included. */
  onWorld(result: WorldResult, done: number): void;
}

/**
 * Runs the worlds of seeds, in several processes, until all are run or the signal comes.
 * @returns the outcomes of all that were run, now or before, in the order of their seeds.
 * @throws {@link OtherBuildError}
 */
export async function runSimulation(options: SimulationOptions): Promise<WorldOutcome[]> {
  const { seed, runs, processes, program, signal, onWorld } = options;
  const state = new RunState(buildName(program), options.state);
  const seeds = Array.from({ length: runs }, (_, i) => seed + i);
  const waiting = seeds.filter((one) => !state.outcomes.has(one));
  let done = runs - waiting.length;
  if (waiting.length > 0)
    await withProcesses(Math.min(processes, waiting.length), options, async (process) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const result = await process.run(drawWorld(next));
        // A world that the signal has ended says nothing.
        if (signal.aborted) return;
        state.add(outcomeOf(result));
        onWorld(result, ++done);
      }
    });
  return seeds.flatMap((one) => state.outcomes.get(one) ?? []);
}
