import {
  bytesToHex,
  type Certainty,
  type ErrorValues,
  ProtocolError,
  type Reason,
} from "@gas-waiver/protocol";

/**
 * The states of a submission, and the steps between them:
 *
 *     queued ──► signed ──► broadcast ──► included
 *       ▲  │       │  │         │ │  ◄──── (a reorg)
 *       │  └───────┼──┼─────────┼─┴─────► failed
 *       └──────────┴──┘◄────────┘
 *
 * - `queued`: one durable write accepted it and gave it to a lane. It will reach a final state, whatever happens.
 *   Where a lane at rest accepts it, that write also signs it, and it begins as `signed` (`lane/sign/acceptOffered.ts`).
 * - `signed`: it has a waiver nonce, and its WrapperTx is stored. Only now may the lane send the bytes, and only these
 *   bytes, any number of times: a node that has them already answers that.
 * - `broadcast`: a node has taken the wrapper.
 * - `included`: the InnerTx is in a block, reverted or not. It is final once the block is deep enough. A queued
 *   submission gets here if the chain has its InnerTx already: by an earlier wrapper of its own, from another relay, or from
 *   before a backup was restored.
 * - `failed`: it is refused for good. The same InnerTx may be submitted again (D18).
 *
 * A submission returns to `queued` when `lane/law/law.ts` decides so: a node has not taken its wrapper, the chain has used the
 * waiver nonce for another transaction, or the wrapper cannot land or run where it stands. A wrapper that may still land is
 * remembered. The user's own nonce lets an InnerTx run at most once, however many wrappers carry it. After a reorg, an
 * included submission returns to `broadcast`, or to `queued` if another wrapper than its present one was in the lost block.
 */
export const TRANSITIONS = {
  queued: ["signed", "included", "failed"],
  signed: ["broadcast", "included", "queued", "failed"],
  broadcast: ["included", "queued", "failed"],
  included: ["broadcast", "queued"],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type SubmissionState = keyof typeof TRANSITIONS;

interface Common {
  /** UUIDv7 (D15). */
  readonly id: string;
  /** The id of the API key that submitted it. */
  readonly keyId: string;
  /** 32 bytes (D6). */
  readonly innerHash: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** The called contract: 20 bytes. */
  readonly target: Uint8Array;
  /** The first 4 bytes of the calldata; undefined if it is shorter. */
  readonly selector: Uint8Array | undefined;
  readonly acceptedAt: Date;
  /** The cause for which it has waited for some seconds: a sentence. */
  readonly waitsFor?: string | undefined;
  readonly steps: Steps;
}

/** The last time of each step. A submission that was queued again has taken none. */
export interface Steps {
  readonly signedAt: Date | undefined;
  readonly broadcastAt: Date | undefined;
  readonly includedAt: Date | undefined;
  /** When it failed, or its block became final. */
  readonly finishedAt: Date | undefined;
}

/** The wrapper of a submission, or another one that carried its InnerTx. */
export interface Carrier {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly waiverNonce: bigint;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

export interface Inclusion {
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  /** The gas that the InnerTx used. */
  readonly gasUsed: bigint;
  readonly reverted: boolean;
}

/** The cause of a revert, as values of the error's details. Absent until a node has run the call again, if one does. */
export interface WithCause {
  readonly cause?: ErrorValues | undefined;
}

export interface Failure {
  readonly reason: Reason;
  readonly message: string;
  /** The values of the error's details. */
  readonly values?: ErrorValues;
}

/** A stored submission. */
export type Submission = Common &
  (
    | { readonly state: "queued" /** An earlier wrapper of it may still land. */; readonly mayLand: boolean }
    | ({ readonly state: "signed" | "broadcast" } & Carrier)
    | ({ readonly state: "included" } & Inclusion & WithCause & Partial<Carrier>)
    | ({ readonly state: "failed" } & Failure & Partial<Carrier>)
  );

/** Says whether the submission's wrapper reached a node (D17). */
export function certaintyOf(submission: Submission): Certainty {
  switch (submission.state) {
    case "queued":
      return submission.mayLand ? "unknown" : "not_broadcast";
    case "failed":
      return "not_broadcast";
    case "signed":
      return "unknown";
    case "broadcast":
    case "included":
      return "broadcast";
  }
}

/** The error of an InnerTx that reverted (D16). */
export function revertedError(
  innerHash: Uint8Array,
  { blockNumber, gasUsed, cause = {} }: RevertedInclusion,
): ProtocolError {
  const txHash = bytesToHex(innerHash);
  const why = typeof cause.causeMessage === "string" ? ` (${cause.causeMessage})` : "";
  const message = `the transaction ${txHash} is on the chain, in a block, and reverted${why}: it used the nonce and changed nothing else`;
  return new ProtocolError("REVERTED", message, {
    txHash,
    ...(blockNumber !== undefined && { blockNumber: blockNumber.toString() }),
    ...(gasUsed !== undefined && { gasUsed: gasUsed.toString() }),
    ...cause,
  });
}

interface RevertedInclusion extends WithCause {
  readonly blockNumber?: bigint | string;
  readonly gasUsed?: bigint | string;
}
