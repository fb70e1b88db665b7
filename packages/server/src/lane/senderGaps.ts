import { bytesToHex, type SendVerdict } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/nodeClient.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";

/**
 * A pool that takes nonces with gaps also takes what cannot run: a sender's later transaction, although the earlier
 * one was refused. That must not be told as a success. So it is remembered which nonce of a sender was not taken,
 * until that nonce is taken or used.
 */
export interface SenderGaps {
  /**
   * After a start, a takeover or a failure nothing is remembered: finds out anew, of what the lane has under way (in the
   * order of its waiver nonces), which nonces of the senders are not there.
   */
  rebuild(underWay: readonly InFlightSubmission[]): Promise<void>;
  /**
   * Of what the node has just accepted, in the order sent: `stranded` cannot run, because an earlier one of the
   * sender is not there any more; `waiting` comes behind one of the same batch whose outcome is open.
   */
  classify(answered: readonly AnsweredSend[]): Promise<{
    readonly stranded: ReadonlySet<string>;
    readonly waiting: ReadonlySet<string>;
  }>;
}

export interface AnsweredSend {
  readonly submission: InFlightSubmission;
  readonly meaning: Pick<SendVerdict, "kind">;
}

const GONE: ReadonlySet<SendVerdict["kind"]> = new Set([
  "refused",
  "nonce gap",
  "inner too early",
  "waiver unusable",
]);
const OPEN: ReadonlySet<SendVerdict["kind"]> = new Set([
  "occupied",
  "not now",
  "disputed",
  "ambiguous",
  "nonce too low",
]);
/** More senders than any lane has at once; of the oldest nobody asks any more. */
const REMEMBERED = 10_000;

export function createSenderGaps(chain: Pick<NodeClient, "nonces">): SenderGaps {
  // The lowest nonce of a sender that was sent and not taken.
  const missing = new Map<string, bigint>();
  const miss = (sender: string, nonce: bigint) => {
    const known = missing.get(sender);
    if (known === undefined || nonce < known) missing.set(sender, nonce);
    const [oldest] = missing.keys();
    if (missing.size > REMEMBERED && oldest !== undefined) missing.delete(oldest);
  };
  /** Forgets what the chain has passed; returns the others. */
  const stillMissing = async (candidates: readonly InFlightSubmission[]) => {
    if (candidates.length === 0) return [];
    const next = await chain.nonces(candidates.map(({ sender }) => sender));
    return candidates.filter(({ sender }, i) => {
      const name = bytesToHex(sender);
      const nonce = missing.get(name);
      if (nonce !== undefined && nonce >= (next[i] ?? 0n)) return true;
      missing.delete(name);
      return false;
    });
  };
  return {
    async rebuild(underWay) {
      const signed = underWay.filter(({ state }) => state === "signed");
      for (const { submission, missing: nonce } of await missingPredecessors(signed, underWay, chain)) {
        miss(bytesToHex(submission.sender), nonce);
      }
    },
    async classify(answered) {
      const open = new Set<string>();
      const waiting = new Set<string>();
      const candidates: InFlightSubmission[] = [];
      for (const { submission, meaning } of answered) {
        const { id, state, senderNonce } = submission;
        const sender = bytesToHex(submission.sender);
        const nonce = missing.get(sender);
        if (GONE.has(meaning.kind)) miss(sender, senderNonce);
        else if (OPEN.has(meaning.kind)) open.add(sender);
        else if (meaning.kind !== "accepted") continue;
        else if (nonce === senderNonce) missing.delete(sender);
        // What was told as a success before is not taken back here.
        else if (state !== "signed") continue;
        else if (nonce !== undefined && nonce < senderNonce) candidates.push(submission);
        else if (open.has(sender)) waiting.add(id);
      }
      return { stranded: new Set((await stillMissing(candidates)).map(({ id }) => id)), waiting };
    },
  };
}

/** Cannot run where it stands, because the sender's nonce `missing` is neither used nor in front of it. */
export interface MissingPredecessor {
  readonly submission: InFlightSubmission;
  readonly missing: bigint;
}

/**
 * What of these senders cannot run, of what the lane has under way in the order of its waiver nonces.
 * @param of whose senders are asked for.
 */
export async function missingPredecessors(
  of: readonly Pick<InFlightSubmission, "sender">[],
  underWay: readonly InFlightSubmission[],
  chain: Pick<NodeClient, "nonces">,
): Promise<MissingPredecessor[]> {
  const senders = new Map(of.map(({ sender }) => [bytesToHex(sender), sender]));
  if (senders.size === 0) return [];
  const nonces = await chain.nonces([...senders.values()]);
  const turns = new Map([...senders.keys()].map((sender, i) => [sender, nonces[i] ?? 0n]));
  return underWay.flatMap((submission) => {
    const sender = bytesToHex(submission.sender);
    const turn = turns.get(sender);
    if (turn === undefined || submission.senderNonce < turn) return [];
    if (submission.senderNonce > turn) return [{ submission, missing: turn }];
    turns.set(sender, turn + 1n);
    return [];
  });
}
