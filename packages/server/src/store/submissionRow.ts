import { type ErrorValues, isReason } from "@gas-waiver/protocol";
import type { Submission, SubmissionState } from "../model/submission/submission.js";
import { waitSentence } from "../model/submission/waitCauses.js";

/** The columns that {@link submissionOf} reads, for a `select`. An earlier wrapper of a queued submission may still land. */
export const SUBMISSION_COLUMNS =
  "state = 'queued' and exists (select from withdrawn w where w.open_for = id) as may_land, case when state in ('queued', 'signed', 'broadcast') then wait_of(id) end as wait, id, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce, wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason, error_message, error_details, accepted_at, signed_at, broadcast_at, included_at, finished_at";

/** A row of the view `submissions`. The driver returns `bigint` and `numeric` as text. */
export interface SubmissionRow {
  id: string;
  key_id: string;
  state: SubmissionState;
  may_land: boolean;
  wait: string | null;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  target: Buffer;
  selector: Buffer | null;
  waiver: Buffer | null;
  waiver_nonce: string | null;
  wrapper_hash: Buffer | null;
  block_number: string | null;
  block_hash: Buffer | null;
  gas_used: string | null;
  reverted: boolean | null;
  error_reason: string | null;
  error_message: string | null;
  error_details: ErrorValues | null;
  accepted_at: Date;
  signed_at: Time;
  broadcast_at: Time;
  included_at: Time;
  finished_at: Time;
}

/** A number stands for an infinite time. */
type Time = Date | number | null;

/**
 * Converts a row into a submission.
 * @throws on a row that breaks the schema's own checks.
 */
export function submissionOf(row: SubmissionRow): Submission {
  const common = {
    id: row.id,
    keyId: row.key_id,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    target: row.target,
    selector: row.selector ?? undefined,
    acceptedAt: row.accepted_at,
    waitsFor: row.wait === null ? undefined : waitSentence(row.wait),
    steps: {
      signedAt: dateOf(row.signed_at),
      broadcastAt: dateOf(row.broadcast_at),
      includedAt: dateOf(row.included_at),
      finishedAt: dateOf(row.finished_at),
    },
  };
  const wrapped = wrappedOf(row);
  switch (row.state) {
    case "queued":
      return { ...common, state: row.state, mayLand: row.may_land };
    case "signed":
    case "broadcast":
      if (wrapped) return { ...common, state: row.state, ...wrapped };
      break;
    case "included":
      if (row.block_number !== null && row.block_hash !== null && row.gas_used !== null) {
        const block = { blockNumber: BigInt(row.block_number), blockHash: row.block_hash };
        const gasUsed = BigInt(row.gas_used);
        return {
          ...common,
          state: row.state,
          ...wrapped,
          ...block,
          gasUsed,
          reverted: row.reverted === true,
          ...(row.reverted === true && row.error_details && { cause: row.error_details }),
        };
      }
      break;
    case "failed":
      if (row.error_reason !== null && isReason(row.error_reason)) {
        const { error_reason: reason, error_message: message, error_details: values } = row;
        const failure = { reason, message: message ?? "", ...(values && { values }) };
        return { ...common, state: row.state, ...failure, ...wrapped };
      }
      break;
  }
  throw new Error(`submission ${row.id} is in state ${row.state}, but its row lacks what that state needs`);
}

/** An infinite `broadcast_at` marks a wrapper that is to be sent again at once. It counts as no time. */
function dateOf(time: Time): Date | undefined {
  return time instanceof Date ? time : undefined;
}

function wrappedOf({ waiver, waiver_nonce, wrapper_hash }: SubmissionRow) {
  if (waiver === null || waiver_nonce === null || wrapper_hash === null) return undefined;
  return { waiver, waiverNonce: BigInt(waiver_nonce), wrapperHash: wrapper_hash };
}
