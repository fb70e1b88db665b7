import type { Hex } from "@gas-waiver/protocol";
import { isFailure, nameOf, type UserSubmission } from "../users/submission.js";
import type { ChainLoss } from "./chainLoss.js";
import { type ProofSources, unproven } from "./failureProof.js";
import type { StoredState } from "./record.js";
import type { Violations } from "./violations.js";

export interface SafetyOptions extends ProofSources {
  readonly violations: Violations;
  /** Something in this world stops a lane with right. */
  readonly mayStop: boolean;
  readonly loss: ChainLoss;
}

/** Judges what the service says and keeps, at any time, in any world. */
export class Safety {
  readonly #options: SafetyOptions;
  /** The InnerTxs that were failed with what counts as proof. */
  readonly #excused = new Set<Hex>();

  constructor(options: SafetyOptions) {
    this.#options = options;
  }

  /**
   * Whether a submission has failed with what counts as proof, or waits behind a nonce of its sender whose submission has, or which a
   * failover of the database may have lost.
   */
  isExcused({ innerHash, user, nonce, sender }: UserSubmission): boolean {
    const { chain, lossUntil } = this.#options;
    const next = chain.nonceOf(sender);
    const isGone = (one: UserSubmission) =>
      this.#excused.has(one.innerHash) || (one.acceptedAt !== undefined && one.acceptedAt <= lossUntil);
    const isInFront = (one: UserSubmission) =>
      one.user === user && one.nonce < nonce && next <= BigInt(one.nonce) && isGone(one);
    return this.#excused.has(innerHash) || this.#options.submissions().some(isInFront);
  }

  /** Judges the last line of a submission. */
  onLine(submission: UserSubmission): void {
    const line = submission.lines.at(-1);
    if (line === undefined) return;
    const { ledger, violations, chain, loss } = this.#options;
    if (isFailure(line)) this.#judgeFailure(submission, line);
    if (!line.success) return;
    if (ledger.shownAt(submission.innerHash) === undefined)
      violations.add("S2", submission, `a line says success, and no node ever had ${nameOf(submission)}`);
    else if (
      submission.wait === "included" &&
      chain.blockOf(submission.innerHash) === undefined &&
      !loss.hasExecution(submission.innerHash)
    )
      violations.add("S2", submission, `a line says included, and no block has ${nameOf(submission)}`);
  }

  #judgeFailure(
    submission: UserSubmission,
    failure: {
      readonly at: number;
      readonly reason: string | undefined;
      readonly message: string | undefined;
    },
  ): void {
    const wrong = unproven(submission, failure, this.#options);
    if (wrong === undefined) this.#excused.add(submission.innerHash);
    else this.#options.violations.add(wrong.law, submission, `${nameOf(submission)}: ${wrong.why}`);
  }

  /** Judges the store, which may know of failures that no line told. @param isAtEnd nothing moves any more. */
  onStored({ submissions, lanes }: StoredState, now: number, isAtEnd: boolean): void {
    const { violations, chain, loss } = this.#options;
    const byHash = new Map(this.#options.submissions().map((one) => [one.innerHash, one]));
    const latest = new Map(submissions.map((one) => [one.innerHash, one]));
    for (const [hash, { state, reason, message }] of latest) {
      const submission = byHash.get(hash);
      if (submission === undefined) continue;
      const block = chain.blockOf(hash);
      if (state === "failed" && !this.#excused.has(hash))
        this.#judgeFailure(submission, { at: now, reason, message });
      if (state === "failed" && block !== undefined && !this.#excused.has(hash))
        violations.add(
          "S1",
          submission,
          `${nameOf(submission)} is kept as failed (${reason}), and block ${block.number} executed it`,
        );
      if (isAtEnd && state === "included" && block === undefined && !loss.hasExecution(hash))
        violations.add("S2", submission, `${nameOf(submission)} is kept as included, and no block has it`);
    }
    if (isAtEnd) this.#judgeLost([...byHash.values()].filter(({ innerHash }) => !latest.has(innerHash)));
    for (const { state, reason, waiver } of lanes)
      if (state === "stopped" && !this.#options.mayStop)
        violations.add("S4", undefined, `the lane of ${waiver} has stopped: ${reason}`);
  }

  #judgeLost(missing: readonly UserSubmission[]): void {
    for (const submission of missing) {
      const { acceptedAt = Number.NEGATIVE_INFINITY, lines } = submission;
      // A refusal at the door leaves no record.
      if (acceptedAt <= this.#options.lossUntil || lines.some(isFailure)) continue;
      const text = `${nameOf(submission)} was accepted, and the store does not have it`;
      this.#options.violations.add("D19", submission, text);
    }
  }
}
