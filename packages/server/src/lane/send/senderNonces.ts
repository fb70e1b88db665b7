import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { type NextNonces, readNextNonces } from "../../chain/nonces.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import { forgetOldest } from "../../util/forgetOldest.js";

/** Reads the next nonces of the owners of some submissions. Never rejects: a nonce may be told to nobody. */
export async function readSenderTurns(
  submissions: readonly Pick<InFlightSubmission, "sender">[],
  chain: Pick<NodeClient, "nonces">,
): Promise<NextNonces> {
  const senders = submissions.map(({ sender }) => sender);
  return await readNextNonces(chain, senders).catch(() => () => undefined);
}

/** A submission that cannot run at its waiver nonce, because an earlier nonce of its sender is missing. */
export interface MissingPredecessor {
  readonly submission: InFlightSubmission;
  /** The sender's nonce that is neither used nor carried by a wrapper in front. */
  readonly missing: bigint;
}

/**
 * Finds the submissions of some senders that cannot run where they stand.
 * @param inFlight what the lane has signed or broadcast, in the order of its waiver nonces.
 */
export function missingPredecessors(
  next: NextNonces,
  inFlight: readonly InFlightSubmission[],
): MissingPredecessor[] {
  const turns = new Map<string, bigint>();
  return inFlight.flatMap((submission) => {
    const sender = bytesToHex(submission.sender);
    const turn = turns.get(sender) ?? next(submission.sender);
    if (turn === undefined || submission.senderNonce < turn) return [];
    if (submission.senderNonce > turn) return [{ submission, missing: turn }];
    turns.set(sender, turn + 1n);
    return [];
  });
}

/**
 * The nonces of senders that no node took. A pool that holds nonces with gaps may refuse a sender's transaction and still
 * accept the sender's next, which can never run: no line may say success for it.
 */
export type SenderGaps = ReturnType<typeof createSenderGaps>;

export function createSenderGaps(chain: Pick<NodeClient, "nonces">) {
  /** The lowest nonce that was sent and not taken, by sender. */
  const gaps = new Map<string, bigint>();
  const add = (sender: string, nonce: bigint) => {
    const known = gaps.get(sender);
    if (known === undefined || nonce < known) gaps.set(sender, nonce);
    forgetOldest(gaps);
  };
  const gapBefore = ({ sender, senderNonce, state }: InFlightSubmission) => {
    const gap = gaps.get(bytesToHex(sender));
    // A submission that is broadcast was reported as a success before, and stays one.
    return state === "signed" && gap !== undefined && gap < senderNonce ? gap : undefined;
  };
  return {
    /**
     * Finds the gaps anew, after a start, a takeover or a failure.
     * @param inFlight what the lane has signed or broadcast, in the order of its waiver nonces.
     */
    async rebuild(inFlight: readonly InFlightSubmission[]): Promise<void> {
      const turns = await readSenderTurns(
        inFlight.filter(({ state }) => state === "signed"),
        chain,
      );
      for (const { submission, missing } of missingPredecessors(turns, inFlight))
        add(bytesToHex(submission.sender), missing);
    },
    /** The node surely does not have the submission's wrapper. */
    note: ({ sender, senderNonce }: InFlightSubmission) => add(bytesToHex(sender), senderNonce),
    /** Returns the ids of those that a node has, and that cannot run: no node took an earlier nonce of their sender. */
    async findBlocked(taken: readonly InFlightSubmission[]): Promise<ReadonlySet<string>> {
      if (gaps.size === 0) return new Set();
      for (const { sender, senderNonce } of taken)
        if (gaps.get(bytesToHex(sender)) === senderNonce) gaps.delete(bytesToHex(sender));
      const behind = taken.filter((one) => gapBefore(one) !== undefined);
      const next = await readSenderTurns(behind, chain);
      for (const { sender } of behind)
        if ((gaps.get(bytesToHex(sender)) ?? 0n) < (next(sender) ?? 0n)) gaps.delete(bytesToHex(sender));
      return new Set(behind.filter((one) => gapBefore(one) !== undefined).map(({ id }) => id));
    },
  };
}
