import type { Hex } from "@gas-waiver/protocol";
import { type Block, nonceIn } from "../chain/block.js";
import type { SimulatedChain } from "../nodes/simulatedChain.js";
import { nameOf, type UserSubmission } from "../users/submission.js";
import type { WorldClock } from "../worldClock.js";
import type { EvidenceLedger } from "./evidenceLedger.js";
import type { Honesty } from "./honesty.js";
import type { Violations } from "./violations.js";

/*
 * The promise of liveness, as this file checks it.
 *
 * L1  A submission whose own part of the world is honest (`honesty.ts`) is in a block within 30 s of virtual time and ten
 *     blocks, counted from the first request with it, or from the moment at which the world became honest if that is later.
 *     In a world where behaviours name senders and nothing else, the limit is 2 s, three blocks that an honest chain takes, and
 *     ten blocks for each sender whose wrappers may keep a nonce: several in a row each cost some. Where answers are slow,
 *     ten more of these may come in between. Where lanes have few places in flight, a block passes for each time that all
 *     submissions of the world fill the places.
 * L4  No line says success for a wrapper whose waiver's nonce stood still for more than 10 s before, while
 *     another wrapper of the lane waited under that nonce, in an honest world.
 *     Readiness of some replica names a trouble of the waivers once a nonce has stood still so for 14 s, while a wrapper of
 *     the lane is in flight, or a submission of an honest user is in its queue. Senders whose wrappers blocks leave out wait
 *     for turns of their own, and a wrapper whose sender's nonce is used waits for nothing.
 * told  The line comes within the same time after the block.
 *
 * Excused from L1 is, besides what `honesty.ts` names, a world in which pools keep wrappers that no block includes while the
 * service has no lane to turn to: as many senders of such wrappers as keys, and pools that refuse a second transaction under a
 * nonce they hold. There the service has to say so: L4 holds.
 */

export interface LivenessOptions {
  readonly clock: WorldClock;
  readonly chain: SimulatedChain;
  readonly ledger: EvidenceLedger;
  readonly honesty: Honesty;
  readonly violations: Violations;
  readonly blockMs: number;
  /** The senders whose wrappers may be at the head of a lane and never come into a block. */
  readonly blockers: number;
  /** The times that all submissions together fill the lanes' places in flight; 1 if there is room for all. */
  readonly rounds: number;
  /** Nothing at a price of 0 can free a nonce, and each key of the service may have such a nonce. */
  readonly isWithoutRemedy: boolean;
}

const PATIENCE_MS = 30_000;
const PROMPT_MS = 2_000;
const STILL_MS = 10_000;
/** A replica has some seconds more to say so. */
const UNNAMED_MS = 14_000;
/** A line that was on its way when the nonce began to count as still. */
const LINE_SLACK_MS = 1_000;

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #limitMs: number;
  readonly #executedAt = new Map<Hex, number>();
  /** Since when each waiver has its next nonce. */
  readonly #nonceSince = new Map<Hex, { readonly nonce: bigint; readonly since: number }>();

  constructor(options: LivenessOptions) {
    this.#options = options;
    const { honesty, blockMs, blockers, rounds } = options;
    this.#limitMs = honesty.isUndisturbed
      ? PROMPT_MS + 10 * honesty.slownessMs + (2 + rounds + 10 * Math.max(1, blockers)) * blockMs
      : PATIENCE_MS + 10 * blockMs;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  executedAt(innerHash: Hex): number | undefined {
    return this.#executedAt.get(innerHash);
  }

  onBlock(block: Block): void {
    const now = this.#options.clock.now();
    for (const { innerHash } of block.wrappers)
      if (!this.#executedAt.has(innerHash)) this.#executedAt.set(innerHash, now);
    for (const waiver of new Set([...this.#options.chain.known.values()].map((one) => one.waiver))) {
      const nonce = nonceIn(block, waiver);
      const known = this.#nonceSince.get(waiver);
      if (known?.nonce !== nonce) this.#nonceSince.set(waiver, { nonce, since: now });
    }
  }

  /** Judges a line that says success. */
  onSuccess(submission: UserSubmission): void {
    const { ledger, violations, chain } = this.#options;
    if (chain.blockOf(submission.innerHash) !== undefined) return;
    const wrapper = ledger.wrappersOf(submission.innerHash).at(-1);
    if (wrapper === undefined) return;
    const still = this.#nonceSince.get(wrapper.waiver);
    if (still === undefined || wrapper.nonce <= still.nonce) return;
    const stillMs = this.#stillMs(wrapper.waiver);
    if (stillMs < STILL_MS + LINE_SLACK_MS) return;
    const seconds = (stillMs / 1_000).toFixed(0);
    violations.add(
      "L4",
      submission,
      `${nameOf(submission)} was told success under nonce ${wrapper.nonce}, and nonce ${still.nonce} of its waiver had stood still for ${seconds} s`,
    );
  }

  /** Whether a nonce stands still, and not yet for so long that the service has to say so. */
  isBeingTested(): boolean {
    return [...this.#nonceSince.keys()].some((waiver) => {
      const stillMs = this.#stillMs(waiver);
      return stillMs > 0 && stillMs < UNNAMED_MS;
    });
  }

  /** The waivers whose next nonce has stood still for so long that the service has to say so. */
  stillWaivers(): readonly Hex[] {
    return [...this.#nonceSince.keys()].filter((waiver) => this.#stillMs(waiver) > UNNAMED_MS);
  }

  /** The waivers whose lanes may wait, as far as the chain tells. */
  mayWait(): readonly Hex[] {
    return [...this.#nonceSince.keys()].filter(
      (waiver) =>
        this.#stillMs(waiver) > 0 || this.#nonceSince.get(waiver)?.since === Number.POSITIVE_INFINITY,
    );
  }

  /** A lane has nothing that waits, or has something again. Its nonce stands still only for those who wait. */
  onWaiting(waiver: Hex, waits: boolean): void {
    const known = this.#nonceSince.get(waiver);
    if (known === undefined || waits === Number.isFinite(known.since)) return;
    const since = waits ? this.#options.clock.now() : Number.POSITIVE_INFINITY;
    this.#nonceSince.set(waiver, { ...known, since });
  }

  /** No replica named any trouble. */
  onUnnamed(waivers: readonly Hex[]): void {
    for (const waiver of waivers)
      this.#options.violations.add(
        "L4",
        undefined,
        `the next nonce of ${waiver} has stood still for more than ${UNNAMED_MS / 1_000} s, and no replica's readiness says so`,
      );
  }

  /** The time for which a wrapper has waited under the waiver's next nonce, in ms. */
  #stillMs(waiver: Hex): number {
    const { clock, honesty } = this.#options;
    const still = this.#nonceSince.get(waiver);
    const honestSince = honesty.honestSince(clock.now());
    if (still === undefined || honestSince === undefined) return 0;
    const head = this.#headOf(waiver, still.nonce) ?? Number.POSITIVE_INFINITY;
    return clock.now() - Math.max(still.since, head, honestSince);
  }

  /** The time since which a wrapper that can still run waits under the lane's next nonce. */
  #headOf(waiver: Hex, nonce: bigint): number | undefined {
    const { chain, ledger } = this.#options;
    const times = [...chain.known.values()]
      .filter((one) => one.waiver === waiver && one.nonce === nonce)
      .filter(({ sender, senderNonce }) => chain.nonceOf(sender) <= senderNonce)
      .map(({ hash }) => ledger.sentAt(hash) ?? Number.POSITIVE_INFINITY);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Judges what is late by now, of the submissions of honest users that have not failed. */
  onTick(submissions: readonly UserSubmission[]): void {
    const { clock, honesty, violations, isWithoutRemedy } = this.#options;
    const now = clock.now();
    const since = honesty.honestSince(now);
    if (since === undefined) return;
    for (const submission of submissions) {
      if (submission.triedAt < honesty.lossUntil) continue;
      const executed = this.#executedAt.get(submission.innerHash);
      const begin = Math.max(submission.triedAt, since);
      const late = `${((now - begin) / 1_000).toFixed(1)} s after ${since > submission.triedAt ? "the world was honest again" : "its first request"}`;
      if (executed === undefined && now - begin > this.#limitMs && !isWithoutRemedy)
        violations.add(
          "L1",
          submission,
          `${nameOf(submission)} is in no block ${late}; lines: ${linesOf(submission)}`,
        );
      else if (
        executed !== undefined &&
        submission.lines.length === 0 &&
        now - Math.max(begin, executed) > this.#limitMs
      )
        violations.add(
          "told",
          submission,
          `${nameOf(submission)} is in a block, and its user has no line ${late}`,
        );
    }
  }
}

function linesOf({ lines, refusals, triedAt }: UserSubmission): string {
  const told = lines.map(
    ({ at, success, reason }) => `${success ? "success" : reason} after ${Math.round(at - triedAt)} ms`,
  );
  const refused = refusals.slice(-1).map(({ message }) => `refused ${refusals.length} times: ${message}`);
  return [...told, ...refused].join("; ") || "none";
}
