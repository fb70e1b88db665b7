import type { UserSubmission } from "../users/submission.js";
import type { WorldClock } from "../worldClock.js";
import type { Law, LawViolation } from "./violation.js";

/** Collects violations: the first of each law and submission. */
export class Violations {
  readonly list: LawViolation[] = [];
  readonly #clock: Pick<WorldClock, "now">;
  readonly #known = new Set<string>();

  constructor(clock: Pick<WorldClock, "now">) {
    this.#clock = clock;
  }

  add(law: Law, submission: UserSubmission | undefined, text: string): void {
    const key = `${law} ${submission?.innerHash ?? ""}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.list.push({ law, at: this.#clock.now(), text });
  }
}
