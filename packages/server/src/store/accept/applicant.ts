import type { KeyCaps } from "../../model/caller.js";
import type { CapReached } from "../../model/capExceeded.js";
import type { Submission } from "../../model/submission.js";
import { byteaArray } from "../statements.js";

/** An InnerTx that keeps every rule and asks to be taken. */
export interface Applicant {
  readonly id: string;
  readonly keyId: string;
  readonly innerHash: Uint8Array;
  readonly innerRaw: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  readonly target: Uint8Array;
  readonly selector: Uint8Array | undefined;
  /** The lane it goes to, unless its sender has something under way in another: 20 bytes. */
  readonly waiver: Uint8Array;
  /** Of the InnerTx, in gas: what a cap of its key counts for it until it is in a block. */
  readonly gasLimit: bigint;
  /** The daily caps of its key, if it has any. */
  readonly caps?: KeyCaps | undefined;
}

/**
 * `accepted`: it is a submission now, in this lane. `known`: the same InnerTx is one already (D18). `conflict`:
 * another InnerTx has the sender's nonce (D20). `capped`: a daily cap of its key is used up (D25).
 */
export type Acceptance =
  | { readonly kind: "accepted"; readonly waiver: Uint8Array }
  | { readonly kind: "known"; readonly submission: Submission }
  | { readonly kind: "conflict"; readonly with: Submission }
  | { readonly kind: "capped"; readonly by: CapReached };

/** The columns of applicants as the database's functions take them, in their order. */
export function columnsOf(applicants: readonly Applicant[]) {
  return {
    ids: applicants.map((a) => a.id),
    key_ids: applicants.map((a) => a.keyId),
    inner_hashes: byteaArray(applicants.map((a) => a.innerHash)),
    inner_raws: byteaArray(applicants.map((a) => a.innerRaw)),
    senders: byteaArray(applicants.map((a) => a.sender)),
    nonces: applicants.map((a) => a.senderNonce.toString()),
    targets: byteaArray(applicants.map((a) => a.target)),
    selectors: byteaArray(applicants.map((a) => a.selector)),
    waivers: byteaArray(applicants.map((a) => a.waiver)),
  };
}
