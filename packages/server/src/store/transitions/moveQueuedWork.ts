import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import { placeAfterMove } from "./placeAfterMove.js";

/**
 * Moves queued submissions from one lane to another, the oldest first, at most `limit`. A sender with a submission that
 * is signed or broadcast in the old lane stays there, so that its nonces stay in order.
 * @param withStruck also those whose wrappers blocks have left out. These would do to the other lane what they did to this one.
 * @returns how many submissions moved.
 */
export async function moveQueuedWork(
  { pool, laneFloors }: Store,
  chain: number,
  from: Uint8Array,
  to: Uint8Array,
  { limit, withStruck }: { readonly limit: number; readonly withStruck: boolean },
): Promise<number> {
  const { rowCount } = await pool.query(
    `with moving as materialized (
       select q.id, q.look_at from unfinished q
       where q.chain = $1 and q.waiver = $2 and q.waiver_nonce is null and q.state = 'queued'
         and ($5 or q.strikes = 0)
         and not exists (select from unfinished u where u.chain = $1 and u.waiver = $2 and u.sender = q.sender
                           and u.state in ('signed', 'broadcast'))
       order by q.id limit $4 for update skip locked
     )
     update unfinished u set waiver = $3, is_waiting = false, look_at = ${placeAfterMove(6)}
     from (select min(look_at) as first from moving) moved
     where u.state = 'queued' and u.id in (select id from moving)`,
    [chain, toBuffer(from), toBuffer(to), limit, withStruck, laneFloors.headOf(to)],
  );
  return rowCount ?? 0;
}
