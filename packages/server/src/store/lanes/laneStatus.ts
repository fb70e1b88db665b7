import { prepared } from "../statements.js";
import type { Store } from "../store.js";

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
