import { bytesToHex, type SendVerdictKind } from "@gas-waiver/protocol";
import type { Presence, SendAnswer } from "../../chain/evidence.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { Failure } from "../../model/submission/submission.js";

/*
 * The law of a lane (D28): the evidence that lets a submission end or move. Everything that a node says is evidence.
 * Absence proves nothing: no receipt, an unknown hash, a nonce without its block, time that passed. The clauses, in the
 * order of their questions:
 *
 *   L1  The InnerTx has a receipt: the submission is included. Only the loss of the block contradicts that.
 *   L2  A final block shows the sender's nonce used by another transaction, or by an authorization of the sender (EIP-7702) in
 *       one: the submission has failed, because its InnerTx can never run.
 *   L3  A final block shows the InnerTx or its wrapper: the submission waits for the receipt, however long.
 *       Where the block has the wrapper and not the InnerTx, the lane also stops (`usedNonces.ts`).
 *   L4  A final block shows the waiver's nonce used by another transaction, or by the wrapper, which failed there without its
 *       InnerTx: the wrapper is dead, and the submission is queued again. After such a failure its pause is long, and grows. If
 *       it is the third wrapper that failed so, or that blocks left out, and no earlier one may still land, the submission has failed.
 *   L5  A node returned the wrapper's hash for it, or shows it: the submission is broadcast.
 *   L6  A node refused the wrapper by a rule of the closed list, in answer to the only request with it since it was signed, and no
 *       earlier wrapper of the submission may still land: the submission has failed, by the name of the rule.
 *   L7  A node surely did not take the wrapper now and may do so later, or refused the only request with it while an earlier
 *       wrapper may still land: the submission is queued again, for a while.
 *   L8  Any other answer is unclear. Where a node answers, if only to others, and so again at once (`send/broadcaster.ts`), the answer
 *       concerns this wrapper: the submission is set aside, which means queued again for a pause that grows, with the wrapper
 *       remembered as open. So it is where a node knows the wrapper, and shows it to nobody for some seconds. The next submission
 *       gets the nonce; without one, the same bytes come again. Where no node answers, or where the nonce may not be free, the
 *       same bytes go out again.
 *   L9  The submission is queued, no wrapper of it may still land, and a time limit is over, or a daily cap has no room for it: it
 *       has failed. The limit of `maxQueueMs` has the same condition in its statement (`store/transitions/expireQueued.ts`).
 *   L10 The wrapper cannot land or run where it stands, for one of the reasons of `Misplacement`. The submission is queued
 *       again, with the wrapper remembered as open.
 *   L11 Otherwise the submission stays as it is.
 *
 * A wrapper is open from its first send until a final block shows its nonce used by another transaction
 * (`store/lanes/nonces/withdrawnWrappers.ts`). An answer that no node took the wrapper closes it too, if it answers the
 * only request with the wrapper. `chain/evidence.ts` makes what nodes have said of a wrapper, and nobody else.
 */

/** A reason for which a queued submission cannot go on. */
export type Expiry =
  /** The sender's earlier nonce did not come in time, and no lane has it (D20). */
  | { readonly kind: "nonce gap"; readonly failure: Failure }
  /** Its turn has come, and a daily cap of its API key has no room for it (D25). */
  | { readonly kind: "cap reached"; readonly failure: Failure }
  /** The sender's nonce is past by the word of each node that tells it, and the InnerTx has no receipt; `next` is the chain's. */
  | { readonly kind: "nonce past"; readonly senderNonce: bigint; readonly next: bigint };

/** The reasons for which a wrapper cannot land or run where it stands. */
export type Misplacement =
  /** A nonce of its sender before it is neither used nor carried by a wrapper in front. */
  | "sender gap"
  /** Another wrapper waits in the pool under its nonce, above a free one, or no node gives that wrapper up. */
  | "nonce occupied"
  /** The lane has too few submissions to fill the nonces below it. */
  | "nonces unfilled"
  /** Blocks leave it out, though a node has it: for now, its nonce is another wrapper's. */
  | "passed over"
  /** Its sender's nonce is used, and its own nonce is next: it can land no more. */
  | "dead"
  /**
   * Blocks leave out a wrapper in front, and this lane cannot give its nonce to another: nobody signs, no node gives it up, or the
   * policies permit the waiver nothing. Another lane may carry the submission.
   */
  | "stranded";

/** The evidence about a submission at one moment. An undefined member is not known. */
export interface Evidence {
  readonly state: "queued" | "signed" | "broadcast";
  /** Its earlier wrappers that may still land; the present one is not among them. */
  readonly openWrappers: number;
  /** The InnerTx has a receipt. */
  readonly hasReceipt?: boolean;
  /** The use of the sender's nonce in a final block, and whether it is this InnerTx. */
  readonly senderNonceUse?: NonceUse & { readonly isOurs: boolean };
  /**
   * The use of its present wrapper's nonce in a final block, and whether it is that wrapper, which did not fail there. `failure`: it is
   * that wrapper, which failed there after others that failed, or that blocks left out.
   */
  readonly waiverNonceUse?: NonceUse & { readonly isOurs: boolean; readonly failure?: Failure | undefined };
  readonly answer?: SendAnswer;
  /** The answer to a look-up of its present wrapper. */
  readonly presence?: Presence;
  /** For some seconds, nodes that were asked for its present wrapper have not had it. */
  readonly isForgotten?: boolean;
  /** Its present wrapper cannot land or run where it stands. */
  readonly misplaced?: Misplacement;
  readonly expiry?: Expiry;
}

/** The next move of a submission, and the clause of the law that decides it. */
export type Decision =
  | { readonly move: "include"; readonly clause: "L1" }
  | { readonly move: "broadcast"; readonly clause: "L5" }
  | { readonly move: "fail"; readonly clause: "L2" | "L4" | "L6" | "L9"; readonly failure: Failure }
  /** Back to `queued`. With `isOpen` its wrapper may still land, and is remembered so. */
  | { readonly move: "requeue"; readonly clause: "L4" | "L7" | "L8" | "L10"; readonly isOpen: boolean }
  /** The same bytes are to be sent again. */
  | { readonly move: "resend"; readonly clause: "L8" }
  | { readonly move: "stay"; readonly clause: "L3" | "L11" };

/** Answers after which the node does not have the wrapper, as after `refused`. No other has it if they answer the only request with it. */
export const NOT_TAKEN: ReadonlySet<SendVerdictKind> = new Set([
  "nonce gap",
  "inner too early",
  "inner too late",
  "waiver unusable",
]);

/**
 * Answers that another wrapper under the same nonce may fare better than. Not among them: `nonce too low`, `occupied` and
 * `already known`, where the nonce may not be free, and `ambiguous`, which is no answer.
 */
const SET_ASIDE: ReadonlySet<SendVerdictKind> = new Set(["refused", "disputed", "not now"]);

/** Decides the next move of a submission. Pure: the same evidence gives the same decision. */
export function decide(evidence: Evidence): Decision {
  const { state, senderNonceUse, waiverNonceUse, answer } = evidence;
  if (evidence.hasReceipt === true) return { move: "include", clause: "L1" };
  if (senderNonceUse?.isOurs === false) return fail("L2", usedByAnother(senderNonceUse));
  if (senderNonceUse?.isOurs === true || waiverNonceUse?.isOurs === true)
    return { move: "stay", clause: "L3" };
  if (state === "queued") return decideQueued(evidence);
  if (waiverNonceUse?.failure && evidence.openWrappers === 0) return fail("L4", waiverNonceUse.failure);
  if (waiverNonceUse?.isOurs === false) return { move: "requeue", clause: "L4", isOpen: false };
  if (evidence.presence?.is === "shown") return { move: "broadcast", clause: "L5" };
  if (evidence.misplaced !== undefined) return { move: "requeue", clause: "L10", isOpen: true };
  return answer === undefined ? { move: "stay", clause: "L11" } : decideAnswer(evidence, answer);
}

function decideAnswer(
  { state, openWrappers, isForgotten = false }: Evidence,
  { verdict, delivery }: SendAnswer,
): Decision {
  if (verdict.kind === "accepted") return { move: "broadcast", clause: "L5" };
  // A node has taken the wrapper before. Blocks show what becomes of it.
  if (state === "broadcast") return { move: "stay", clause: "L11" };
  const isOnly = delivery === "only";
  if (verdict.kind === "refused" && isOnly && openWrappers === 0) {
    const { reason, values = {} } = verdict;
    return fail("L6", {
      reason,
      message: `the chain's node refused the transaction: ${verdict.message}`,
      values,
    });
  }
  if (NOT_TAKEN.has(verdict.kind) || (verdict.kind === "refused" && isOnly))
    return { move: "requeue", clause: "L7", isOpen: !isOnly };
  return SET_ASIDE.has(verdict.kind) || (verdict.kind === "already known" && isForgotten)
    ? { move: "requeue", clause: "L8", isOpen: true }
    : { move: "resend", clause: "L8" };
}

function decideQueued({ openWrappers, expiry }: Evidence): Decision {
  if (expiry === undefined || openWrappers > 0) return { move: "stay", clause: "L11" };
  switch (expiry.kind) {
    case "nonce gap":
    case "cap reached":
      return fail("L9", expiry.failure);
    case "nonce past":
      return fail("L9", {
        reason: "NONCE_TOO_LOW",
        message: `nonce ${expiry.senderNonce} is already used: the sender's next is ${expiry.next}`,
        values: { nonce: expiry.senderNonce.toString(), expected: expiry.next.toString() },
      });
  }
}

function fail(clause: "L2" | "L4" | "L6" | "L9", failure: Failure): Decision {
  return { move: "fail", clause, failure };
}

function usedByAnother({ nonce, transaction, by, blockNumber }: NonceUse): Failure {
  const usedBy = bytesToHex(transaction.hash);
  const user = `${by === "sender" ? "" : "an authorization (EIP-7702) in "}transaction ${usedBy}`;
  const message = `nonce ${nonce} is already used: by ${user} in block ${blockNumber}`;
  const nonces = { nonce: nonce.toString(), expected: (nonce + 1n).toString() };
  const values = { ...nonces, usedBy, blockNumber: blockNumber.toString() };
  return { reason: "NONCE_TOO_LOW", message, values };
}
