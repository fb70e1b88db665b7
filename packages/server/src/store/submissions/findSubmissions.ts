import { type ErrorValues, isReason } from "@gas-waiver/protocol";
import type { Submission, SubmissionState } from "../../model/submission/submission.js";
import { waitSentence } from "../../model/submission/waitCauses.js";
import { typedRows, uuidLiteral } from "../database/statements.js";
import type { Queryable } from "../store.js";

/** Finds submissions by id. Unknown ids are left out; the order is undefined. */
export async function findSubmissions(
  { pool }: { readonly pool: Queryable },
  ids: readonly string[],
): Promise<Submission[]> {
  if (ids.length === 0) return [];
  // With the ids in the text, the planner reads only the partitions of their days.
  const text = `select ${SUBMISSION_COLUMNS} from submissions where id in (${ids.map(uuidLiteral).join(", ")})`;
  return (await typedRows<SubmissionRow>(pool, { text })).map(submissionOf);
}

/**
 * The columns of a {@link SubmissionRow}, for a statement of `readRows` or `typedRows`. An earlier wrapper of a queued submission may
 * still land.
 */
export const SUBMISSION_COLUMNS = `state = 'queued' and exists (select from withdrawn w where w.open_for = id) as "mayLand",
  case when state in ('queued', 'signed', 'broadcast') then wait_of(id) end as wait, id, key_id as "keyId", state,
  inner_hash as "innerHash", sender, sender_nonce as "senderNonce", target, selector, waiver, waiver_nonce as "waiverNonce",
  wrapper_hash as "wrapperHash", block_number as "blockNumber", block_hash as "blockHash", gas_used as "gasUsed", reverted,
  error_reason as reason, error_message as message, error_details as details, accepted_at as "acceptedAt", signed_at as "signedAt",
  broadcast_at as "broadcastAt", included_at as "includedAt", finished_at as "finishedAt"`;

/** A row of the view `submissions`. */
export interface SubmissionRow {
  readonly mayLand: boolean;
  readonly wait: string | undefined;
  readonly id: string;
  readonly keyId: string;
  readonly state: SubmissionState;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  readonly target: Uint8Array;
  readonly selector: Uint8Array | undefined;
  readonly waiver: Uint8Array | undefined;
  readonly waiverNonce: bigint | undefined;
  readonly wrapperHash: Uint8Array | undefined;
  readonly blockNumber: bigint | undefined;
  readonly blockHash: Uint8Array | undefined;
  readonly gasUsed: bigint | undefined;
  readonly reverted: boolean | undefined;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly details: ErrorValues | undefined;
  readonly acceptedAt: Date;
  readonly signedAt: Time;
  readonly broadcastAt: Time;
  readonly includedAt: Time;
  readonly finishedAt: Time;
}

/** A number stands for an infinite time. */
type Time = Date | number | undefined;

/**
 * Converts a row into a submission.
 * @throws on a row that breaks the schema's own checks.
 */
export function submissionOf(row: SubmissionRow): Submission {
  const { state, waiver, waiverNonce, wrapperHash, blockNumber, blockHash, gasUsed, reason, details } = row;
  const { id, keyId, innerHash, sender, senderNonce, target, selector, acceptedAt, wait } = row;
  const common = {
    ...{ id, keyId, innerHash, sender, senderNonce, target, selector, acceptedAt },
    waitsFor: wait === undefined ? undefined : waitSentence(wait),
    steps: {
      signedAt: dateOf(row.signedAt),
      broadcastAt: dateOf(row.broadcastAt),
      includedAt: dateOf(row.includedAt),
      finishedAt: dateOf(row.finishedAt),
    },
  };
  const wrapped =
    waiver && waiverNonce !== undefined && wrapperHash ? { waiver, waiverNonce, wrapperHash } : undefined;
  switch (state) {
    case "queued":
      return { ...common, state, mayLand: row.mayLand };
    case "signed":
    case "broadcast":
      if (wrapped) return { ...common, state, ...wrapped };
      break;
    case "included":
      if (blockNumber !== undefined && blockHash && gasUsed !== undefined) {
        const reverted = row.reverted === true;
        const cause = reverted && details && { cause: details };
        return { ...common, state, ...wrapped, blockNumber, blockHash, gasUsed, reverted, ...cause };
      }
      break;
    case "failed":
      if (reason !== undefined && isReason(reason)) {
        const failure = { reason, message: row.message ?? "", ...(details && { values: details }) };
        return { ...common, state, ...failure, ...wrapped };
      }
      break;
  }
  throw new Error(`submission ${id} is in state ${state}, but its row lacks what that state needs`);
}

/** An infinite `broadcast_at` marks a wrapper that is to be sent again at once. It counts as no time. */
function dateOf(time: Time): Date | undefined {
  return time instanceof Date ? time : undefined;
}
