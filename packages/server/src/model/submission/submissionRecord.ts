import { bytesToHex, errorBodyOf, ProtocolError, type SubmissionRecord } from "@gas-waiver/protocol";
import { certaintyOf, revertedError, type Submission } from "./submission.js";

/** Converts a submission of the store to its record on the wire (D15). */
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
    ...(submission.waitsFor !== undefined && { waitsFor: submission.waitsFor }),
    ...wrapperFields(submission),
    ...outcomeFields(submission),
    ...timeFields(submission),
  };
}

function wrapperFields(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "queued" || submission.wrapperHash === undefined) return {};
  const { wrapperHash, waiver, waiverNonce } = submission;
  return {
    wrapperHash: bytesToHex(wrapperHash),
    ...(waiver && { waiver: bytesToHex(waiver) }),
    ...(waiverNonce !== undefined && { waiverNonce: waiverNonce.toString() }),
  };
}

function outcomeFields(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "failed") {
    const { reason, message, values } = submission;
    return { error: errorBodyOf(new ProtocolError(reason, message, values)) };
  }
  if (submission.state !== "included") return {};
  const { blockNumber, blockHash, gasUsed, reverted } = submission;
  return {
    blockNumber: blockNumber.toString(),
    blockHash: bytesToHex(blockHash),
    gasUsed: gasUsed.toString(),
    reverted,
    ...(reverted && { error: errorBodyOf(revertedError(submission.innerHash, submission)) }),
  };
}

function timeFields({ state, steps }: Submission): Partial<SubmissionRecord> {
  const { signedAt, broadcastAt, includedAt, finishedAt } = steps;
  return {
    ...(signedAt && { signedAt: signedAt.toISOString() }),
    ...(broadcastAt && { broadcastAt: broadcastAt.toISOString() }),
    ...(includedAt && { includedAt: includedAt.toISOString() }),
    ...(finishedAt && { [state === "failed" ? "failedAt" : "finalAt"]: finishedAt.toISOString() }),
  };
}
