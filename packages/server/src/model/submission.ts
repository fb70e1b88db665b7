import type { Certainty, Reason } from "@gas-waiver/protocol";

/**
 * The life of a submission:
 *
 *     queued ──► signed ──► broadcast ──► included
 *       ▲  │       │  │         │ │  ◄──── (a reorg)
 *       │  └───────┼──┼─────────┼─┴─────► failed
 *       └──────────┴──┘◄────────┘
 *
 * - `queued`: accepted by one durable write, and given to a lane. From here on it reaches a final state, whatever
 *   happens.
 * - `signed`: it carries a waiver nonce and its WrapperTx is stored. Only now may the bytes be sent, and only
 *   these bytes, however often: a node that has seen them says so.
 * - `broadcast`: a node took the wrapper.
 * - `included`: the InnerTx is in a block, with whatever status; final once the block is deep enough. A queued one
 *   gets here if the chain has its InnerTx already: by another relay, or from before a backup of the store.
 * - `failed`: a rule refuses it for good. Final; the same InnerTx may be submitted again (D18).
 *
 * Backwards, to `queued`, goes only what surely will not land under its waiver nonce: the node has refused the
 * wrapper, or the chain has used that nonce for another one. The user's own nonce lets an InnerTx run at most
 * once, however many wrappers carry it. Backwards, to `broadcast`, goes what a reorg took out of its block; to
 * `queued`, if the wrapper in that block was not ours.
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
  /** The key that submitted it. */
  readonly keyId: string;
  /** 32 bytes (D6). */
  readonly innerHash: Uint8Array;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** What it calls: 20 bytes, and 4 where the calldata has them. */
  readonly target: Uint8Array;
  readonly selector: Uint8Array | undefined;
  readonly acceptedAt: Date;
  readonly steps: Steps;
}

/** When a submission took its steps, each the last time. What was queued again has taken none. */
export interface Steps {
  readonly signedAt: Date | undefined;
  readonly broadcastAt: Date | undefined;
  readonly includedAt: Date | undefined;
  /** It failed, or is in a block that stays. */
  readonly finishedAt: Date | undefined;
}

/** The waiver's side of a submission that is past `queued`. */
export interface Wrapped {
  readonly waiver: Uint8Array;
  readonly waiverNonce: bigint;
  readonly wrapperHash: Uint8Array;
}

export interface Inclusion {
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  /** By the InnerTx, in gas. */
  readonly gasUsed: bigint;
  readonly reverted: boolean;
}

export interface Failure {
  readonly reason: Reason;
  readonly message: string;
}

/** A submission as the store has it. */
export type Submission = Common &
  (
    | { readonly state: "queued" }
    | ({ readonly state: "signed" | "broadcast" } & Wrapped)
    | ({ readonly state: "included" } & Inclusion & Partial<Wrapped>)
    | ({ readonly state: "failed" } & Failure & Partial<Wrapped>)
  );

/** D17: what is known of the chain's side, from the record alone. */
export function certaintyOf(submission: Submission): Certainty {
  switch (submission.state) {
    case "queued":
    case "failed":
      return "not_broadcast";
    case "signed":
      return "unknown";
    case "broadcast":
    case "included":
      return "broadcast";
  }
}

/** What a reverted InnerTx is told (D16). */
export const REVERTED_MESSAGE =
  "the transaction is in a block and reverted: it used the nonce and changed nothing else";
