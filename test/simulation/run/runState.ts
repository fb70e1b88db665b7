import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { WorldResult } from "../runWorld.js";

/** The part of a result that a run remembers. */
export type WorldOutcome = Pick<WorldResult, "digest" | "violations" | "counts" | "virtualMs"> & {
  readonly seed: number;
};

export function outcomeOf({ plan, digest, violations, counts, virtualMs }: WorldResult): WorldOutcome {
  return { seed: plan.seed, digest, violations, counts, virtualMs };
}

/** The file of a run's state is of another build, whose worlds say nothing about this one. */
export class OtherBuildError extends Error {}

/**
 * The worlds that a run has behind it, in a file to which each world adds a line. A run that was stopped goes on after the last whole
 * line.
 */
export class RunState {
  readonly outcomes = new Map<number, WorldOutcome>();
  readonly #file: string | undefined;

  /**
   * @param build names the build of the service and of the simulation.
   * @param file is undefined where nothing is to be kept.
   * @throws {@link OtherBuildError}
   */
  constructor(build: string, file: string | undefined) {
    this.#file = file;
    if (file === undefined) return;
    if (!existsSync(file)) {
      writeFileSync(file, `${JSON.stringify({ build })}\n`);
      return;
    }
    const [head = "{}", ...lines] = wholeLines(file);
    if (JSON.parse(head).build !== build)
      throw new OtherBuildError(`the worlds in ${file} are of another build: name another file`);
    for (const line of lines) {
      const outcome = JSON.parse(line) as WorldOutcome;
      this.outcomes.set(outcome.seed, outcome);
    }
  }

  add(outcome: WorldOutcome): void {
    this.outcomes.set(outcome.seed, outcome);
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(outcome)}\n`);
  }
}

/** Reads the lines of a file, and removes the part of a line that a process left when it was killed. */
function wholeLines(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole !== text) writeFileSync(file, whole);
  return whole.split("\n").slice(0, -1);
}
