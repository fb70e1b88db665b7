import type { KeyCaps } from "../../model/keys/caller.js";
import type { CapReached } from "../../model/keys/capExceeded.js";
import type { Submission } from "../../model/submission/submission.js";
import { byteaArray } from "../database/statements.js";
import { innerTxColumns, type StoredInnerTx } from "../innerTxColumns.js";

/** A valid InnerTx that the service is asked to accept. */
export interface NewSubmission extends StoredInnerTx {
  readonly id: string;
  readonly keyId: string;
  /** 20 bytes: the lane it goes to, unless its sender has unfinished submissions in another lane. */
  readonly waiver: Uint8Array;
  /** The InnerTx's limit, in gas. A daily cap counts it until the InnerTx is in a block and its gas is known. */
  readonly gasLimit: bigint;
  /** The daily caps of its API key (D25). */
  readonly caps?: KeyCaps | undefined;
}

/**
 * The answer to a new submission. `accepted`: it is a submission now, in the lane of this waiver, and `isSigned` if the lane has
 * signed its wrapper in the same write. `known`: the same
 * InnerTx is a submission already (D18). `conflict`: another InnerTx has the sender's nonce (D20). `capped`: a daily
 * cap of its API key has no room (D25).
 */
export type Acceptance =
  | { readonly kind: "accepted"; readonly waiver: Uint8Array; readonly isSigned?: true }
  | { readonly kind: "known"; readonly submission: Submission }
  | { readonly kind: "conflict"; readonly with: Submission }
  | { readonly kind: "capped"; readonly by: CapReached };

/** The gas that a plain submission may take from a block, its wrapper's included. */
export const PLAIN_GAS = 150_000;
/** The wrapper's intrinsic gas, with no zero among its bytes (EIP-2028). */
const BASE_GAS = 21_000;
const GAS_OF_BYTE = 16;

/**
 * The places in flight that the wrapper of a submission takes, by its gas: whole ones, and at least one. What is in flight goes before
 * all that comes later, so that the places bound the blocks for which others wait.
 */
export function slotsOf({ gasLimit, innerRaw }: Pick<NewSubmission, "gasLimit" | "innerRaw">): number {
  const gas = Number(gasLimit) + BASE_GAS + GAS_OF_BYTE * innerRaw.length;
  return Math.max(1, Math.floor(gas / PLAIN_GAS));
}

/** Returns the id of the API key of a request's new submissions, which all have the same one. */
export function keyIdOf({
  newSubmissions: [first],
}: {
  readonly newSubmissions: readonly NewSubmission[];
}): string {
  return first?.keyId ?? "";
}

/** The columns of new submissions, in the order of the parameters of the SQL functions `accept` and `accept_capped`. */
export function columnsOf(newSubmissions: readonly NewSubmission[]) {
  return {
    ids: newSubmissions.map((a) => a.id),
    key_ids: newSubmissions.map((a) => a.keyId),
    ...innerTxColumns(newSubmissions),
    waivers: byteaArray(newSubmissions.map((a) => a.waiver)),
    slot_counts: newSubmissions.map(slotsOf),
  };
}
