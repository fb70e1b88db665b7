import type { SendVerdictKind } from "@gas-waiver/protocol";

/**
 * Tells an unwell node from a wrapper that no node takes (D28). A node is well if it gives another wrapper of the same
 * exchange a clear answer. A node is also well if its last clear answer is at most {@link PROBE_MS} older than the exchange
 * and it answers now, even with unknown errors. Where all answers are unclear, one submission is set aside, to let another
 * try. If the next submission gets no clear answer either, the node seems unwell: then one more is set aside each {@link
 * PROBE_MS}, until the node takes a wrapper. A clear answer to a wrapper that was sent as a probe also settles the unclear
 * answers before.
 */
export interface SetAsideProbe {
  /** An exchange begins. */
  onSend(): void;
  /**
   * Whether the unclear answer to this submission concerns it alone.
   * @param verdicts of the whole exchange.
   */
  isNodeWell(
    submission: { readonly id: string; readonly signings: number },
    verdicts: readonly SendVerdictKind[],
  ): boolean;
  onSetAside(id: string): void;
  /**
   * Wrappers of other API keys were sent although earlier ones have no clear answer.
   * @param verdicts of that exchange.
   */
  onProbed(verdicts: readonly SendVerdictKind[]): void;
  /**
   * Remembers submissions whose pauses have begun, if no answer of their exchange showed a node at work: perhaps the node
   * was unwell, and not they. Otherwise it forgets them.
   */
  suspectNode(ids: readonly string[], verdicts: readonly SendVerdictKind[]): void;
  /**
   * A node has taken a wrapper.
   * @returns the remembered submissions that may come again at once. The times between two wakings of a submission double
   * from {@link MIN_WAKE_MS}, so that what no node takes costs little; until then it stays remembered.
   */
  onAccepted(): string[];
}

const PROBE_MS = 1_000;
/** After this time without any answer, a wrapper may be the cause: a proxy may refuse the request because of it. */
const MAX_SILENCE_MS = 3_000;

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
/** Verdicts without a JSON-RPC answer, or of a node that refuses everything for now: nothing can be told from these. */
const SILENT: ReadonlySet<SendVerdictKind> = new Set(["ambiguous", "not now"]);

/** @param now a monotonic clock in ms. */
export function createSetAsideProbe(now: () => number = () => performance.now()): SetAsideProbe {
  let last: { readonly id: string; readonly at: number } | undefined;
  let silentSince: number | undefined;
  let wellAt = Number.NEGATIVE_INFINITY;
  let clearAt = Number.NEGATIVE_INFINITY;
  let sentAt = now();
  const suspects = new Set<string>();
  const wakings = new Map<string, { readonly at: number; readonly count: number }>();
  const mayWake = (id: string) => {
    const { at, count } = wakings.get(id) ?? { at: Number.NEGATIVE_INFINITY, count: 0 };
    return now() - at >= Math.min(MAX_PAUSE_MS, MIN_WAKE_MS * 2 ** (count - 1));
  };
  return {
    onSend() {
      sentAt = now();
    },
    isNodeWell({ id, signings }, verdicts) {
      if (verdicts.some((kind) => CLEAR.has(kind))) {
        silentSince = undefined;
        clearAt = now();
        return true;
      }
      if (now() - wellAt < PROBE_MS) return true;
      const isAnswering = !verdicts.some((kind) => SILENT.has(kind));
      if (isAnswering && sentAt - clearAt < PROBE_MS) return true;
      // It was set aside before: its own pause grows, and nobody else waits for it.
      if (signings > 1) return true;
      if (verdicts.every((kind) => SILENT.has(kind))) {
        silentSince ??= now();
        if (now() - silentSince < MAX_SILENCE_MS) return false;
      }
      return last === undefined || last.id === id || now() - last.at >= PROBE_MS;
    },
    onSetAside(id) {
      last = { id, at: now() };
    },
    onProbed(verdicts) {
      if (verdicts.some((kind) => CLEAR.has(kind))) wellAt = now();
    },
    suspectNode(ids, verdicts) {
      const isNodeAtWork = verdicts.some((kind) => CLEAR.has(kind));
      for (const id of ids) isNodeAtWork ? suspects.delete(id) : suspects.add(id);
    },
    onAccepted() {
      clearAt = now();
      last = undefined;
      silentSince = undefined;
      for (const [id, { at }] of wakings) if (now() - at >= 2 * MAX_PAUSE_MS) wakings.delete(id);
      const woken = [...suspects].filter(mayWake);
      for (const id of woken) {
        suspects.delete(id);
        wakings.set(id, { at: now(), count: (wakings.get(id)?.count ?? 0) + 1 });
      }
      return woken;
    },
  };
}

/** A submission that was woken for nothing is woken again after this time, then after twice as long. */
const MIN_WAKE_MS = 2_000;
const MIN_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;

/**
 * Returns the pause of a submission that is set aside, in ms. The pause grows with each wrapper of the submission.
 */
export function setAsidePauseMs(signings: number): number {
  return Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(Math.max(0, signings - 1), 10));
}
