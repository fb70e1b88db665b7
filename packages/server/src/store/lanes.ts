import { prepared } from "./parameters.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./store.js";

/**
 * `open`: takes work. `draining`: finishes what its senders have, takes nothing new. `retired`: is over.
 * `stopped`: something is wrong that needs a person; it touches nothing.
 */
export const LANE_STATES = ["open", "draining", "retired", "stopped"] as const;
export type LaneState = (typeof LANE_STATES)[number];

/** A lane as every replica can see it. */
export interface LaneStatus {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly state: LaneState;
  /** Why it is stopped, or why its breaker is open. */
  readonly reason: string | undefined;
  /** Its breaker keeps work away for now. */
  readonly broken: boolean;
  /** The replica that works it, if its lease holds. */
  readonly owner: string | undefined;
  readonly queued: number;
  readonly inFlight: number;
  /** How long its oldest queued submission has waited, in ms; 0 without one. */
  readonly oldestMs: number;
}

interface LaneRow {
  waiver: Buffer;
  state: LaneState;
  reason: string | null;
  broken: boolean;
  owner: string | null;
  queued: string;
  under_way: string;
  oldest_ms: string | null;
}

/** All lanes of a chain, by address. */
export async function findLaneStatuses({ pool }: Store, chain: number): Promise<LaneStatus[]> {
  const { rows } = await pool.query<LaneRow>(
    prepared(
      `with queued as (
         select waiver, count(*), min(accepted_at) as oldest from unfinished
         where chain = $1 and waiver_nonce is null and state = 'queued' group by waiver
       ), under_way as (
         select waiver, count(*) from unfinished
         where chain = $1 and waiver_nonce is not null and state <> 'included' group by waiver
       )
       select l.waiver, l.state, l.reason, l.broken_until > now() as broken,
              case when l.lease_until > now() then l.owner end as owner,
              coalesce(queued.count, 0) as queued, coalesce(under_way.count, 0) as under_way,
              extract(epoch from now() - queued.oldest) * 1000 as oldest_ms
       from lanes l left join queued on queued.waiver = l.waiver left join under_way on under_way.waiver = l.waiver
       where l.chain = $1 order by l.waiver`,
      [chain],
    ),
  );
  return rows.map((row) => ({
    waiver: row.waiver,
    state: row.state,
    reason: row.reason ?? undefined,
    broken: row.broken,
    owner: row.owner ?? undefined,
    queued: Number(row.queued),
    inFlight: Number(row.under_way),
    oldestMs: Number(row.oldest_ms ?? 0),
  }));
}

/** Sets what a lane may do; false if the store has no such lane. */
export async function setLaneState(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  state: LaneState,
  reason?: string,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update lanes set state = $3::lane_state, reason = $4, broken_until = '-infinity',
       foreign_uses = case when $3::lane_state = 'open' then 0 else foreign_uses end
     where chain = $1 and waiver = $2`,
    [chain, toBuffer(waiver), state, reason ?? null],
  );
  return rowCount === 1;
}

/** Keeps work away from a lane for a while, or lets it come again (`forMs` 0). */
export async function setBreaker(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  forMs: number,
  reason: string | undefined,
): Promise<void> {
  await pool.query(
    `update lanes set broken_until = now() + $3::float8 * interval '1 millisecond', reason = $4
     where chain = $1 and waiver = $2 and state in ('open', 'draining')`,
    [chain, toBuffer(waiver), forMs, reason ?? null],
  );
}

/** Counts wrappers of somebody else under the lane's key; returns the count. */
export async function countForeignUses(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  uses: number,
): Promise<number> {
  const { rows } = await pool.query<{ foreign_uses: number }>(
    "update lanes set foreign_uses = foreign_uses + $3 where chain = $1 and waiver = $2 returning foreign_uses",
    [chain, toBuffer(waiver), uses],
  );
  return rows[0]?.foreign_uses ?? 0;
}

/**
 * Gives what is queued in one lane to another, oldest first, at most `limit`; but not what a sender has behind
 * something signed or broadcast in the old lane. Returns how many went.
 */
export async function moveQueuedWork(
  { pool }: Store,
  chain: number,
  from: Uint8Array,
  to: Uint8Array,
  limit: number,
): Promise<number> {
  const { rowCount } = await pool.query(
    `update unfinished set waiver = $3, look_at = now()
     where state = 'queued' and id in (
       select q.id from unfinished q
       where q.chain = $1 and q.waiver = $2 and q.waiver_nonce is null and q.state = 'queued'
         and not exists (select from unfinished u where u.chain = $1 and u.waiver = $2 and u.sender = q.sender
                           and u.state in ('signed', 'broadcast'))
       order by q.id limit $4 for update skip locked)`,
    [chain, toBuffer(from), toBuffer(to), limit],
  );
  return rowCount ?? 0;
}
