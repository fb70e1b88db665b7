import { bytesToHex, codeOf, type Reason, type SubmissionRecord } from "@gas-waiver/protocol";
import { certaintyOf, REVERTED_MESSAGE, type Submission } from "../../model/submission.js";

/** The record as the wire has it. */
export function toSubmissionRecord(submission: Submission): SubmissionRecord {
  const { id, state, innerHash, sender, senderNonce, target, selector, acceptedAt } = submission;
  return {
    id,
    state,
    certainty: certaintyOf(submission),
    txHash: bytesToHex(innerHash),
    sender: bytesToHex(sender),
    nonce: senderNonce.toString(),
    target: bytesToHex(target),
    ...(selector && { selector: bytesToHex(selector) }),
    acceptedAt: acceptedAt.toISOString(),
    ...wrapperOf(submission),
    ...outcomeOf(submission),
    ...timesOf(submission),
  };
}

function wrapperOf(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "queued" || submission.wrapperHash === undefined) return {};
  const { wrapperHash, waiver, waiverNonce } = submission;
  return {
    wrapperHash: bytesToHex(wrapperHash),
    ...(waiver && { waiver: bytesToHex(waiver) }),
    ...(waiverNonce !== undefined && { waiverNonce: waiverNonce.toString() }),
  };
}

function outcomeOf(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "failed") return { error: errorOf(submission.reason, submission.message) };
  if (submission.state !== "included") return {};
  const { blockNumber, blockHash, gasUsed, reverted } = submission;
  return {
    blockNumber: blockNumber.toString(),
    blockHash: bytesToHex(blockHash),
    gasUsed: gasUsed.toString(),
    reverted,
    ...(reverted && { error: errorOf("REVERTED", REVERTED_MESSAGE) }),
  };
}

function timesOf({ state, steps }: Submission): Partial<SubmissionRecord> {
  const { signedAt, broadcastAt, includedAt, finishedAt } = steps;
  return {
    ...(signedAt && { signedAt: signedAt.toISOString() }),
    ...(broadcastAt && { broadcastAt: broadcastAt.toISOString() }),
    ...(includedAt && { includedAt: includedAt.toISOString() }),
    ...(finishedAt && { [state === "failed" ? "failedAt" : "finalAt"]: finishedAt.toISOString() }),
  };
}

function errorOf(reason: Reason, message: string) {
  return { code: codeOf(reason), message, reason };
}
