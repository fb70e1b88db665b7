import type { SendVerdictKind } from "@gas-waiver/protocol";

/**
 * The submissions that a lane has set aside (D28) while nodes gave no clear answer to anything: perhaps the node was unwell,
 * and not they. Their pauses end when a node takes a wrapper.
 */
export interface SetAside {
  /**
   * Remembers submissions whose pauses have begun, if no answer of their exchange showed a node at work. Otherwise it forgets
   * them.
   */
  note(ids: readonly string[], verdicts: readonly SendVerdictKind[]): void;
  /**
   * A node has taken a wrapper.
   * @returns the remembered submissions that may come again at once. The times between two wakings of a submission double
   * from {@link MIN_WAKE_MS}, so that what no node takes costs little; until then it stays remembered.
   */
  onAccepted(): string[];
}

/** Verdicts that show a node at work, whatever they say of the wrapper. */
const CLEAR: ReadonlySet<SendVerdictKind> = new Set([
  "accepted",
  "already known",
  "nonce too low",
  "nonce gap",
  "occupied",
  "waiver unusable",
  "refused",
  "inner too early",
  "inner too late",
]);
/** A submission that was woken for nothing is woken again after this time, then after twice as long. */
const MIN_WAKE_MS = 2_000;
const MAX_WAKE_MS = 30_000;
const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/** @param now a monotonic clock in ms. */
export function createSetAside(now: () => number = () => performance.now()): SetAside {
  const suspects = new Set<string>();
  const wakings = new Map<string, { readonly at: number; readonly count: number }>();
  const mayWake = (id: string) => {
    const { at, count } = wakings.get(id) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
    return now() - at >= Math.min(MAX_WAKE_MS, MIN_WAKE_MS * 2 ** (count - 1));
  };
  return {
    note(ids, verdicts) {
      const isNodeAtWork = verdicts.some((kind) => CLEAR.has(kind));
      for (const id of ids) isNodeAtWork ? suspects.delete(id) : suspects.add(id);
    },
    onAccepted() {
      for (const [id, { at }] of wakings) if (now() - at >= 2 * MAX_WAKE_MS) wakings.delete(id);
      const woken = [...suspects].filter(mayWake);
      for (const id of woken) {
        suspects.delete(id);
        wakings.set(id, { at: now(), count: (wakings.get(id)?.count ?? 0) + 1 });
      }
      return woken;
    },
  };
}

/**
 * Returns the pause of a submission that is set aside, in ms. The pause grows with each wrapper of the submission.
 */
export function setAsidePauseMs(signings: number): number {
  return Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(Math.max(0, signings - 1), 10));
}
