/** The columns of `finished`, and what each takes from the row of `unfinished` unless told otherwise. */
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
  waiver: "waiver",
  waiver_nonce: "waiver_nonce",
  signings: "signings",
  wrapper_hash: "wrapper_hash",
  block_number: "block_number",
  block_hash: "block_hash",
  gas_used: "gas_used",
  reverted: "reverted",
  error_reason: "null",
  error_message: "null",
  accepted_at: "accepted_at",
  signed_at: "signed_at",
  broadcast_at: "broadcast_at",
  included_at: "included_at",
} as const;

type Column = keyof typeof OUTCOME_COLUMNS;

/** What a failed submission has no more: its waiver nonce is free, and its wrapper carries nothing. */
export const FAILED_COLUMNS = {
  state: "'failed'",
  waiver_nonce: "null",
  wrapper_hash: "null",
} as const satisfies Partial<Record<Column, string>>;

/**
 * The end of a submission, as the rest of a statement that began with `with x as (…)`: takes its row from `unfinished`
 * and puts the outcome into `finished`. Returns `id, origin`, and `error_message` as it is kept.
 * @param taken behind `delete from unfinished s`: which, returning `s.*` and what the outcome needs besides.
 * @param outcome what differs from the row, as expressions on what was returned.
 */
export function finishStatement(taken: string, outcome: Partial<Record<Column, string>>): string {
  const columns: Record<Column, string> = { ...OUTCOME_COLUMNS, ...outcome };
  const state = `(${columns.state})::submission_state`;
  return `, gone as (delete from unfinished s ${taken}), kept as (
    insert into finished (${Object.keys(columns).join(", ")})
    select ${Object.values({ ...columns, state }).join(", ")} from gone
  ) select id, origin, ${columns.error_message} as message from gone`;
}
