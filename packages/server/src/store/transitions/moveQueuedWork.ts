import { byteaArray } from "../database/statements.js";
import type { Store } from "../store.js";

/** A call as policies see it. */
export interface QueuedCall {
  /** 20 bytes. */
  readonly target: Uint8Array;
  /** 4 bytes; none if the call has no calldata. */
  readonly selector: Uint8Array;
}

export interface MoveOptions {
  readonly limit: number;
  /** Also those whose wrappers blocks have left out. These would do to the other lane what they did to this one. */
  readonly withStruck: boolean;
  /** Also those of senders with a submission that is signed or broadcast in the old lane. */
  readonly ofBusySenders: boolean;
  /** Only submissions with these calls; undefined: with any. */
  readonly calls?: readonly QueuedCall[] | undefined;
}

/** Finds the calls that are queued in a lane, each once. */
export async function findQueuedCalls(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
): Promise<QueuedCall[]> {
  const { rows } = await pool.query<QueuedCall>(
    `select distinct target, coalesce(selector, '') as selector from unfinished
     where chain = $1 and waiver = $2 and waiver_nonce is null and state = 'queued'`,
    [chain, waiver],
  );
  return rows;
}

/**
 * Moves queued submissions from one lane to another, the oldest first, at most `limit`. They get the first places there, in the
 * order and with the distances that they had, so that a flood that moves does not stand before a single transaction.
 * @returns how many submissions moved.
 */
export async function moveQueuedWork(
  { pool, laneFloors }: Store,
  chain: number,
  from: Uint8Array,
  to: Uint8Array,
  { limit, withStruck, ofBusySenders, calls }: MoveOptions,
): Promise<number> {
  const { rowCount } = await pool.query(
    `with moving as materialized (
       select q.id, q.look_at from unfinished q
       where q.chain = $1 and q.waiver = $2 and q.waiver_nonce is null and q.state = 'queued'
         and ($5 or q.strikes = 0)
         and ($6::bytea[] is null or (q.target, coalesce(q.selector, '')) in (select * from unnest($6, $7::bytea[])))
         and ($9 or not exists (select from unfinished u where u.chain = $1 and u.waiver = $2 and u.sender = q.sender
                           and u.state in ('signed', 'broadcast')))
       order by q.id limit $4 for update skip locked
     )
     update unfinished u set waiver = $3, is_waiting = false,
       look_at = coalesce($8, now()) + least(u.look_at - moved.first, interval '1 minute')
     from (select min(look_at) as first from moving) moved
     where u.state = 'queued' and u.id in (select id from moving)`,
    [
      ...[chain, from, to, limit, withStruck],
      calls && byteaArray(calls.map(({ target }) => target)),
      calls && byteaArray(calls.map(({ selector }) => selector)),
      ...[laneFloors.headOf(to), ofBusySenders],
    ],
  );
  return rowCount ?? 0;
}
