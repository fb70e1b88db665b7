import type { Candidate, ChainOutcome } from "./chainOutcomes.js";

/**
 * Some nodes know a new nonce before the receipt that goes with it. So the proof of an outcome that contradicts a wrapper
 * of ours, which costs several calls, is looked for only after the node has said the same for {@link CONFIRM_MS}.
 */
export interface Confirmations {
  /**
   * True if the chain has said this outcome, and no other, of the submission and its present wrapper since at least
   * {@link CONFIRM_MS} ago. Any other outcome starts the time anew.
   */
  isConfirmed(candidate: Pick<Candidate, "id" | "signings">, outcome: ChainOutcome["kind"]): boolean;
  /** No proof was found. The outcome counts again after a pause, which grows, so that others have their turn. */
  postpone(candidate: Pick<Candidate, "id">): void;
}

export const CONFIRM_MS = 2_000;
/** An outcome that was last said this long ago is about a submission that has ended. */
const FORGET_MS = 600_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

interface FirstSaid {
  readonly signings: number;
  readonly outcome: ChainOutcome["kind"];
  readonly since: number;
  readonly confirmedAt: number;
  readonly pauseMs: number;
}

/** @param now a monotonic clock in ms. */
export function createConfirmations(now: () => number = () => performance.now()): Confirmations {
  const firstSaid = new Map<string, FirstSaid>();
  return {
    isConfirmed({ id, signings }, outcome) {
      const at = now();
      const first = firstSaid.get(id);
      if (outcome === "open" || outcome === "included") {
        firstSaid.delete(id);
        return false;
      }
      if (first?.outcome === outcome && first.signings === signings) return at >= first.confirmedAt;
      for (const [other, { since }] of firstSaid) if (at - since > FORGET_MS) firstSaid.delete(other);
      firstSaid.set(id, {
        outcome,
        signings,
        since: at,
        confirmedAt: at + CONFIRM_MS,
        pauseMs: MIN_PAUSE_MS,
      });
      return false;
    },
    postpone({ id }) {
      const first = firstSaid.get(id);
      if (first === undefined) return;
      const pauseMs = Math.min(MAX_PAUSE_MS, 2 * first.pauseMs);
      firstSaid.set(id, { ...first, confirmedAt: now() + first.pauseMs, pauseMs });
    },
  };
}
