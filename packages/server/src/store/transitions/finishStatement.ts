/** The columns of `finished`, each with the expression that fills it from the row of `unfinished`. */
const OUTCOME_COLUMNS = {
  id: "id",
  chain: "chain",
  key_id: "key_id",
  state: "state",
  inner_hash: "inner_hash",
  sender: "sender",
  sender_nonce: "sender_nonce",
  target: "target",
  selector: "selector",
  waiver: "coalesce(carrier_waiver, waiver)",
  waiver_nonce: "coalesce(carrier_nonce, waiver_nonce)",
  signings: "signings",
  wrapper_hash: "coalesce(carrier_hash, wrapper_hash)",
  block_number: "block_number",
  block_hash: "block_hash",
  gas_used: "gas_used",
  reverted: "reverted",
  error_reason: "null",
  error_message: "null",
  error_details: "error_details",
  accepted_at: "accepted_at",
  signed_at: "signed_at",
  broadcast_at: "broadcast_at",
  included_at: "included_at",
} as const;

type Column = keyof typeof OUTCOME_COLUMNS;

/** The columns that every failed submission sets: its waiver nonce is free again, and no wrapper carries it. */
export const FAILED_COLUMNS = {
  state: "'failed'",
  waiver_nonce: "null",
  wrapper_hash: "null",
} as const satisfies Partial<Record<Column, string>>;

/**
 * Moves submissions from `unfinished` to `finished`. It is the rest of a statement that begins with `with x as (…)`,
 * and returns `id, origin`, the stored `error_message` as `message`, and what `returned` names.
 * @param deletion follows `delete from unfinished s`: the condition, and `returning s.*` with the values that the outcome
 *   needs.
 * @param outcome the columns that differ from the row, as expressions on the returned values.
 * @param returned more expressions on the returned values, each behind a comma.
 */
export function finishStatement(
  deletion: string,
  outcome: Partial<Record<Column, string>>,
  returned = "",
): string {
  const columns: Record<Column, string> = { ...OUTCOME_COLUMNS, ...outcome };
  const state = `(${columns.state})::submission_state`;
  return `, deleted as (delete from unfinished s ${deletion}), inserted as (
    insert into finished (${Object.keys(columns).join(", ")})
    select ${Object.values({ ...columns, state }).join(", ")} from deleted
  ) select id, origin, ${columns.error_message} as message${returned} from deleted`;
}
