import type { Candidate, ChainOutcome } from "./chainOutcomes.js";

/**
 * Some nodes know a new nonce before the receipt that goes with it. So the proof of an outcome that contradicts a wrapper
 * of ours is looked for only after the node has shown the same outcome for {@link CONFIRM_MS}.
 */
export interface Confirmations {
  /**
   * True if the chain has shown this outcome for the submission and its present wrapper for at least {@link CONFIRM_MS}. Another
   * outcome starts the time again, but not `open`: behind one address, a node that stands still may answer now and then.
   */
  isConfirmed(candidate: Pick<Candidate, "id" | "signings">, outcome: ChainOutcome["kind"]): boolean;
  /**
   * True until {@link BLOCK_PATIENCE_MS} have passed since the first call for a submission: the block of its receipt, which
   * a node did not show, may only be late there.
   */
  isBlockAwaited(candidate: Pick<Candidate, "id">): boolean;
  /** Returns true at the first call for a submission, so that the operator is told only once. */
  isFirstReport(candidate: Pick<Candidate, "id">): boolean;
  /** Makes the next report of a submission its first again, because the last report did not get through. */
  withdrawReport(candidate: Pick<Candidate, "id">): void;
}

export const CONFIRM_MS = 2_000;
/** Behind one address, a node may have a receipt before another node has the receipt's block. */
export const BLOCK_PATIENCE_MS = 5_000;
/** An outcome that was first seen this long ago belongs to a submission that has ended. */
const FORGET_MS = 600_000;

interface FirstSeen {
  readonly signings: number;
  readonly outcome: ChainOutcome["kind"];
  readonly since: number;
}

/** @param now a monotonic clock in ms. */
export function createConfirmations(now: () => number = () => performance.now()): Confirmations {
  const firstSeen = new Map<string, FirstSeen>();
  const missedSince = new Map<string, number>();
  const reported = new Set<string>();
  return {
    isConfirmed({ id, signings }, outcome) {
      const nowMs = now();
      const first = firstSeen.get(id);
      if (outcome === "included") firstSeen.delete(id);
      if (outcome === "open" || outcome === "included") return false;
      if (first?.outcome === outcome && first.signings === signings) return nowMs - first.since >= CONFIRM_MS;
      for (const [other, { since }] of firstSeen) if (nowMs - since > FORGET_MS) firstSeen.delete(other);
      firstSeen.set(id, { outcome, signings, since: nowMs });
      return false;
    },
    isBlockAwaited({ id }) {
      const nowMs = now();
      for (const [other, since] of missedSince) if (nowMs - since > FORGET_MS) missedSince.delete(other);
      const since = missedSince.get(id) ?? nowMs;
      missedSince.set(id, since);
      return nowMs - since < BLOCK_PATIENCE_MS;
    },
    isFirstReport({ id }) {
      const isNew = !reported.has(id);
      reported.add(id);
      return isNew;
    },
    withdrawReport({ id }) {
      reported.delete(id);
    },
  };
}
