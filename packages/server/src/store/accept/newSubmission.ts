import type { KeyCaps } from "../../model/caller.js";
import type { CapReached } from "../../model/capExceeded.js";
import type { Submission } from "../../model/submission.js";
import { byteaArray } from "../statements.js";

/** A valid InnerTx that the service is asked to accept. */
export interface NewSubmission {
  readonly id: string;
  readonly keyId: string;
  readonly innerHash: Uint8Array;
  readonly innerRaw: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  readonly target: Uint8Array;
  readonly selector: Uint8Array | undefined;
  /** 20 bytes: the lane it goes to, unless its sender has unfinished submissions in another lane. */
  readonly waiver: Uint8Array;
  /** The InnerTx's limit, in gas. A daily cap counts it until the InnerTx is in a block and its gas is known. */
  readonly gasLimit: bigint;
  /** The daily caps of its API key (D25). */
  readonly caps?: KeyCaps | undefined;
}

/**
 * The answer to a new submission. `accepted`: it is a submission now, in the lane of this waiver. `known`: the same
 * InnerTx is a submission already (D18). `conflict`: another InnerTx has the sender's nonce (D20). `capped`: a daily
 * cap of its API key has no room (D25).
 */
export type Acceptance =
  | { readonly kind: "accepted"; readonly waiver: Uint8Array }
  | { readonly kind: "known"; readonly submission: Submission }
  | { readonly kind: "conflict"; readonly with: Submission }
  | { readonly kind: "capped"; readonly by: CapReached };

/** The columns of new submissions, in the order of the parameters of the SQL functions `accept` and `accept_capped`. */
export function columnsOf(newSubmissions: readonly NewSubmission[]) {
  return {
    ids: newSubmissions.map((a) => a.id),
    key_ids: newSubmissions.map((a) => a.keyId),
    inner_hashes: byteaArray(newSubmissions.map((a) => a.innerHash)),
    inner_raws: byteaArray(newSubmissions.map((a) => a.innerRaw)),
    senders: byteaArray(newSubmissions.map((a) => a.sender)),
    nonces: newSubmissions.map((a) => a.senderNonce.toString()),
    targets: byteaArray(newSubmissions.map((a) => a.target)),
    selectors: byteaArray(newSubmissions.map((a) => a.selector)),
    waivers: byteaArray(newSubmissions.map((a) => a.waiver)),
  };
}
