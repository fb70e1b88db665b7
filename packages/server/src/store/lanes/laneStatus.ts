import { prepared } from "../statements.js";
import type { Store } from "../store.js";

/**
 * `open`: the lane accepts work. `draining`: it finishes the submissions of its senders, and gets no new senders.
 * `retired`: it has drained. `stopped`: it signs and sends nothing until an operator opens it.
 */
export const LANE_STATES = ["open", "draining", "retired", "stopped"] as const;
export type LaneState = (typeof LANE_STATES)[number];

/** The state of a lane, as every replica can read it. */
export interface LaneStatus {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly state: LaneState;
  /** The reason why the lane is stopped, or why its breaker is open. */
  readonly reason: string | undefined;
  /** The breaker is open: no new work goes to the lane for now. */
  readonly broken: boolean;
  /** The UUID of the replica that holds the lease and can sign, or to which the lane is being handed. */
  readonly owner: string | undefined;
  /** The number of queued submissions. */
  readonly queued: number;
  /** The number of submissions that are signed or broadcast. */
  readonly inFlight: number;
  /** The age of the oldest queued submission, in ms; 0 without one. */
  readonly oldestMs: number;
}

interface LaneRow {
  waiver: Buffer;
  state: LaneState;
  reason: string | null;
  broken: boolean;
  owner: string | null;
  queued: string;
  in_flight: string;
  oldest_ms: string | null;
}

/** Reads the status of all lanes of a chain, in the order of their waivers. */
export async function findLaneStatuses({ pool }: Store, chain: number): Promise<LaneStatus[]> {
  const { rows } = await pool.query<LaneRow>(
    prepared(
      `with queued as (
         select waiver, count(*), min(accepted_at) as oldest from unfinished
         where chain = $1 and waiver_nonce is null and state = 'queued' group by waiver
       ), in_flight as (
         select waiver, count(*) from unfinished
         where chain = $1 and waiver_nonce is not null and state <> 'included' group by waiver
       )
       select l.waiver, l.state, l.reason, l.broken_until > now() as broken,
              case when l.lease_until > now() and not l.watch_only then l.owner
                   when l.reserved_until > now() then l.reserved_for end as owner,
              coalesce(queued.count, 0) as queued, coalesce(in_flight.count, 0) as in_flight,
              extract(epoch from now() - queued.oldest) * 1000 as oldest_ms
       from lanes l left join queued on queued.waiver = l.waiver left join in_flight on in_flight.waiver = l.waiver
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
    inFlight: Number(row.in_flight),
    oldestMs: Number(row.oldest_ms ?? 0),
  }));
}
