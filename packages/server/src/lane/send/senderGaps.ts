import { bytesToHex, type SendVerdict, type SendVerdictKind } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";

/**
 * The nonces of senders that the node did not take. A pool that holds nonces with gaps may refuse a sender's transaction
 * and still accept the sender's next, which can never run. Such an acceptance must not be reported as a success.
 */
export interface SenderGaps {
  /**
   * Finds the gaps anew, after a start, a takeover or a failure.
   * @param inFlight what the lane has signed or broadcast, in the order of its waiver nonces.
   */
  rebuild(inFlight: readonly InFlightSubmission[]): Promise<void>;
  /**
   * Records the node's verdicts, in the order sent, and returns the ids of those that the node has and that cannot run yet.
   * @param shown the ids of those that the node shows, whatever it answered. Default: none.
   */
  classify(
    answered: readonly AnsweredSend[],
    shown?: ReadonlySet<string>,
  ): Promise<{
    /** An earlier nonce of the sender is neither used nor with the node. */
    readonly blocked: ReadonlySet<string>;
    /** An earlier nonce of the sender is in the same batch, and it is not known whether the node has it. */
    readonly undecided: ReadonlySet<string>;
  }>;
}

/** A wrapper that was sent, and what the node's answer means. */
export interface AnsweredSend {
  readonly submission: InFlightSubmission;
  readonly answer: { readonly verdict: Pick<SendVerdict, "kind"> };
}

/** The node surely does not have the wrapper. */
const NOT_TAKEN: ReadonlySet<SendVerdictKind> = new Set([
  "refused",
  "nonce gap",
  "inner too early",
  "waiver unusable",
]);
/** The node may have the wrapper. */
const UNDECIDED: ReadonlySet<SendVerdictKind> = new Set([
  "already known",
  "occupied",
  "not now",
  "disputed",
  "ambiguous",
  "nonce too low",
]);
/** More senders than a lane usually has in flight; beyond it the oldest gap is forgotten. */
const MAX_GAPS = 10_000;

export function createSenderGaps(chain: Pick<NodeClient, "nonces">): SenderGaps {
  // The lowest nonce that was sent and not taken, keyed by sender.
  const gaps = new Map<string, bigint>();
  const addGap = (sender: string, nonce: bigint) => {
    const known = gaps.get(sender);
    if (known === undefined || nonce < known) gaps.set(sender, nonce);
    const [oldest] = gaps.keys();
    if (gaps.size > MAX_GAPS && oldest !== undefined) gaps.delete(oldest);
  };
  /** Forgets the gaps that the chain has passed, and returns the submissions whose gap is still there. */
  const stillBlocked = async (submissions: readonly InFlightSubmission[]) => {
    if (submissions.length === 0) return [];
    const turns = await readSenderTurns(submissions, chain);
    return submissions.filter(({ sender }) => {
      const senderHex = bytesToHex(sender);
      const gap = gaps.get(senderHex);
      if (gap !== undefined && gap >= turns.of(sender)) return true;
      gaps.delete(senderHex);
      return false;
    });
  };
  return {
    async rebuild(inFlight) {
      const signed = inFlight.filter(({ state }) => state === "signed");
      const turns = await readSenderTurns(signed, chain);
      for (const { submission, missing } of missingPredecessors(turns, inFlight)) {
        addGap(bytesToHex(submission.sender), missing);
      }
    },
    async classify(answered, shown = new Set()) {
      const undecidedSenders = new Set<string>();
      const undecided = new Set<string>();
      const maybeBlocked: InFlightSubmission[] = [];
      for (const { submission, answer } of answered) {
        const { id, state, senderNonce } = submission;
        const kind = shown.has(id) ? "accepted" : answer.verdict.kind;
        const sender = bytesToHex(submission.sender);
        const gap = gaps.get(sender);
        if (NOT_TAKEN.has(kind)) addGap(sender, senderNonce);
        else if (UNDECIDED.has(kind)) undecidedSenders.add(sender);
        else if (kind !== "accepted") continue;
        else if (gap === senderNonce) gaps.delete(sender);
        // A submission that is broadcast was reported as a success before, and stays one.
        else if (state !== "signed") continue;
        else if (gap !== undefined && gap < senderNonce) maybeBlocked.push(submission);
        else if (undecidedSenders.has(sender)) undecided.add(id);
      }
      const blocked = await stillBlocked(maybeBlocked);
      return { blocked: new Set(blocked.map(({ id }) => id)), undecided };
    },
  };
}

/** A submission that cannot run at its waiver nonce, because an earlier nonce of its sender is missing. */
export interface MissingPredecessor {
  readonly submission: InFlightSubmission;
  /** The sender's nonce that is neither used nor carried by a wrapper in front. */
  readonly missing: bigint;
}

/** The next nonces of senders on the chain. */
export interface SenderTurns {
  /** Returns the next nonce of an account; 0 for one that was not asked for, or is not told. */
  of(sender: Uint8Array): bigint;
  /** The senders' addresses in hex, with their next nonces, as far as these are told. */
  readonly all: ReadonlyMap<string, bigint>;
}

/** Reads the next nonces of the owners of some submissions, each once. Never rejects: a nonce may be told to nobody. */
export async function readSenderTurns(
  submissions: readonly Pick<InFlightSubmission, "sender">[],
  chain: Pick<NodeClient, "nonces">,
): Promise<SenderTurns> {
  const addresses = new Map(submissions.map(({ sender }) => [bytesToHex(sender), sender]));
  const nonces = addresses.size === 0 ? [] : await chain.nonces([...addresses.values()]).catch(() => []);
  const all = new Map(
    [...addresses.keys()].flatMap((sender, i) => {
      const next = nonces[i];
      return next === undefined ? [] : [[sender, next] as const];
    }),
  );
  return { all, of: (sender) => all.get(bytesToHex(sender)) ?? 0n };
}

/**
 * Finds the submissions of some senders that cannot run where they stand.
 * @param inFlight what the lane has signed or broadcast, in the order of its waiver nonces.
 */
export function missingPredecessors(
  senders: Pick<SenderTurns, "all">,
  inFlight: readonly InFlightSubmission[],
): MissingPredecessor[] {
  const turns = new Map(senders.all);
  return inFlight.flatMap((submission) => {
    const sender = bytesToHex(submission.sender);
    const turn = turns.get(sender);
    if (turn === undefined || submission.senderNonce < turn) return [];
    if (submission.senderNonce > turn) return [{ submission, missing: turn }];
    turns.set(sender, turn + 1n);
    return [];
  });
}
