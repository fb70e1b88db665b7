import type { AnySubmissionRecord, SubmissionRecord, Wait } from "@gas-waiver/protocol/wire";
import { SubmissionFailedError } from "../errors.js";

/**
 * Tells whether a submission has reached the stage `until`.
 * @throws SubmissionFailedError if it never will.
 */
export function hasReached(record: AnySubmissionRecord, until: Wait): record is SubmissionRecord {
  const { id, state, error } = record;
  // D16: a transaction whose call reverted was broadcast, and did not succeed.
  if ("refused" in record || state === "failed" || (record.reverted && until === "included")) {
    const why = error ?? { code: "BROADCAST_FAILED", message: "the submission failed" };
    throw new SubmissionFailedError(id, why, record);
  }
  return state === "included" || (state === "broadcast" && until === "broadcast");
}
