import type { SubmissionState } from "../../model/submission/submission.js";
import { byteaArray, readRows } from "../database/statements.js";
import type { Store } from "../store.js";

/** A submission that holds or has used a nonce of its sender. */
export interface SenderSubmission {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly nonce: bigint;
  readonly innerHash: Uint8Array;
  readonly state: Exclude<SubmissionState, "failed">;
}

/**
 * Finds all unfinished submissions of these senders, of any API key, and the included submissions that used one of the
 * given nonces.
 */
export async function findSenderSubmissions(
  { pool }: Store,
  chain: number,
  senderNonces: readonly { readonly sender: Uint8Array; readonly nonce: bigint }[],
): Promise<SenderSubmission[]> {
  if (senderNonces.length === 0) return [];
  return await readRows<SenderSubmission>(
    pool,
    `select u.sender, u.sender_nonce as nonce, u.inner_hash as "innerHash", u.state
     from (select distinct sender from unnest($2::bytea[]) as s (sender)) a
     join unfinished u on u.chain = $1 and u.sender = a.sender
     union all
     select f.sender, f.sender_nonce, f.inner_hash, 'included' from find_included($1, $2, $3) f`,
    [
      chain,
      byteaArray(senderNonces.map(({ sender }) => sender)),
      senderNonces.map(({ nonce }) => nonce.toString()),
    ],
  );
}
