import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";

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
