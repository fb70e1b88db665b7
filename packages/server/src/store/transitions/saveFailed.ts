import type { Failure } from "../../model/submission.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { FAILED_COLUMNS, finishStatement } from "./finishStatement.js";
import { WITHDRAWN } from "./withdrawStatement.js";

/**
 * queued, signed or broadcast → failed, finally. The waiver nonces that they held are free again.
 * @throws {@link LeaseLostError}
 */
export function saveFailed(
  store: Store,
  lane: HeldLane,
  failed: readonly (Failure & { readonly id: string })[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    failed.map((f) => f.id),
    FAILED,
    [failed.map((f) => f.reason), failed.map((f) => f.message)],
  );
}

const FAILED = `${WITHDRAWN}${finishStatement(
  `using unnest($5::uuid[], $6::text[], $7::text[]) as n (submission, reason, message)
   where s.id = n.submission and s.state in ('queued', 'signed', 'broadcast') and ${LEASE_IS_HELD} returning s.*, n.*`,
  { ...FAILED_COLUMNS, error_reason: "reason", error_message: "message" },
)}`;
