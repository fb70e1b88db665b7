import type { Failure } from "../../model/submission/submission.js";
import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { FAILED_COLUMNS, finishStatement } from "./finishStatement.js";
import { withdrawing } from "./withdrawStatement.js";

/** A submission that is to fail, and its condition. */
export type FailedSubmission = Failure & {
  readonly id: string;
  /**
   * The submission fails only while this holds: `queued`, it has no wrapper; a hash of 32 bytes, it has this wrapper.
   * Under both it must have no open wrapper. `always`: the InnerTx can never run in any wrapper.
   */
  readonly condition: "always" | "queued" | Uint8Array;
};

/**
 * queued, signed or broadcast → failed, finally. The waiver nonces that they held are free again.
 * @returns those whose conditions still held.
 * @throws {@link LeaseLostError}
 */
export function saveFailed(
  store: Store,
  lane: HeldLane,
  failed: readonly FailedSubmission[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    failed.map((f) => f.id),
    FAILED,
    [
      failed.map((f) => f.reason),
      failed.map((f) => f.message),
      failed.map((f) => f.condition === "always"),
      byteaArray(failed.map((f) => (f.condition instanceof Uint8Array ? f.condition : undefined))),
      failed.map((f) => f.values && JSON.stringify(f.values)),
    ],
  );
}

/** The failure's condition still holds for the row `s`: parameters $8 and $9 as `is_final` and `hash` of `n`. */
const HOLDS = `(n.is_final or s.wrapper_hash is not distinct from n.hash
    and not exists (select from withdrawn w where w.open_for = s.id))`;

const CONCERNED = `select s.id from unnest($5::uuid[], $8::boolean[], $9::bytea[]) as n (submission, is_final, hash)
  join unfinished s on s.id = n.submission and ${HOLDS}`;

const FAILED = `${withdrawing(CONCERNED)}${finishStatement(
  `using unnest($5::uuid[], $6::text[], $7::text[], $8::boolean[], $9::bytea[], $10::json[])
     as n (submission, reason, message, is_final, hash, details)
   where s.id = n.submission and s.state in ('queued', 'signed', 'broadcast') and ${HOLDS}
     and ${LEASE_IS_HELD} returning s.*, n.reason, n.message, n.details`,
  { ...FAILED_COLUMNS, error_reason: "reason", error_message: "message", error_details: "details" },
)}`;
