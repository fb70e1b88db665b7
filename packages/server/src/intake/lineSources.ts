import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "../model/keys/caller.js";
import { capExceeded } from "../model/keys/capExceeded.js";
import type { Submission } from "../model/submission/submission.js";
import type { Validation } from "../policy/validateTransaction.js";
import type { LineSource } from "../results/resultLine.js";
import type { Acceptance } from "../store/accept/newSubmission.js";

/** A validated transaction with its place in the request, and the id that its line has. */
export type ValidatedTransaction = Validation & { readonly index: number; readonly id: string };

/** @param acceptance the store's answer; undefined for a transaction that broke a rule, and was not written. */
export function lineSourceOf(
  transaction: ValidatedTransaction,
  acceptance: Acceptance | undefined,
  caller: Pick<Caller, "keyId" | "publishable">,
): LineSource {
  const { index, id } = transaction;
  if ("error" in transaction) return { index, id, error: transaction.error };
  const { hash: innerHash, tx } = transaction.valid;
  switch (acceptance?.kind) {
    case "known":
      return { index, id: acceptance.submission.id, innerHash, earlier: true };
    case "conflict":
      return { index, id, error: nonceConflict(acceptance.with, tx.nonce, caller) };
    case "capped":
      return { index, id, error: capExceeded(acceptance.by, caller) };
    default:
      return { index, id, innerHash, earlier: false };
  }
}

/**
 * D20: a nonce that is used is too low; a nonce that another unfinished submission has is a conflict. The other one is named to its
 * own API key alone, and to nobody who has the key from a page.
 */
function nonceConflict(
  other: Submission,
  nonce: bigint,
  { keyId, publishable }: Pick<Caller, "keyId" | "publishable">,
): ProtocolError {
  const isOwn = other.keyId === keyId && publishable === undefined;
  const name = isOwn ? `submission ${other.id}` : "another submission";
  const values = { nonce: nonce.toString(), ...(isOwn && { submission: other.id }) };
  if (other.state === "included") {
    const expected = { expected: (nonce + 1n).toString() };
    return new ProtocolError("NONCE_TOO_LOW", `nonce ${nonce} is already used, by ${name}`, {
      ...values,
      ...expected,
    });
  }
  const message = `another transaction of this sender with nonce ${nonce} is ${other.state}: ${name}`;
  return new ProtocolError("NONCE_CONFLICT", message, values);
}

/** The line of a transaction that the service did not process, because it could accept nothing more. */
export function notAccepted(index: number, id: string, cause: ProtocolError): LineSource {
  const message = `the transaction was not accepted, send it again: ${cause.message}`;
  return { index, id, error: new ProtocolError("NOT_BROADCAST", message) };
}

/** The line of a transaction that was being written when the store failed. */
export function maybeAccepted(transaction: ValidatedTransaction, cause: ProtocolError): LineSource {
  const { index, id } = transaction;
  if ("error" in transaction) return { index, id, error: transaction.error };
  const message = `the transaction may have been accepted, query its id or send it again: ${cause.message}`;
  return { index, id, error: new ProtocolError("OUTCOME_UNKNOWN", message) };
}
