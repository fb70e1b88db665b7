/** A submission in the store. */
export interface Row {
  readonly id: string;
  readonly state: "queued" | "signed" | "broadcast" | "included" | "failed";
  /** The API key; empty if the lane took the submission back from the chain, after the store had forgotten it. */
  readonly key_id: string;
  readonly inner_hash: Buffer;
  readonly sender: Buffer;
  readonly sender_nonce: string;
  readonly waiver: Buffer;
  readonly waiver_nonce: string | null;
  readonly signings: number;
  readonly reverted: boolean | null;
  readonly error_reason: string | null;
  readonly error_message: string | null;
  readonly accepted_at: Date;
  /** null while it is unfinished. */
  readonly finished_at: Date | null;
}

export const ROWS = `select id, state, key_id, inner_hash, sender, sender_nonce, waiver, waiver_nonce, signings, reverted,
  error_reason, error_message, accepted_at, finished_at from submissions order by id`;
