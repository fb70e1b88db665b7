import type { LaneWaitCause } from "../../model/submission/waitCauses.js";
import type { LaneWork } from "../../model/telemetry/metrics.js";
import { byteaArray, readRows } from "../database/statements.js";
import type { Store } from "../store.js";
import type { LaneFloor } from "./queue/laneFloors.js";

/**
 * `open`: the lane accepts work. `draining`: it finishes the submissions of its senders, and gets no new senders.
 * `retired`: it has drained. `stopped`: it signs and sends nothing until an operator opens it.
 */
export const LANE_STATES = ["open", "draining", "retired", "stopped"] as const;
export type LaneState = (typeof LANE_STATES)[number];

/** The count of foreign uses restarts if the last foreign use is older than this. */
export const FOREIGN_USE_MEMORY = "24 hours";

/** The state of a lane, as every replica can read it. */
export interface LaneStatus extends LaneWork {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly state: LaneState;
  /** The reason why the lane is stopped, or why its breaker is open. */
  readonly reason: string | undefined;
  /** The breaker is open: no new work goes to the lane for now. */
  readonly broken: boolean;
  /** A submission of the lane is in a block that is not final. */
  readonly hasUnfinalized: boolean;
  /** The lane has withdrawn wrappers that are not forgotten. */
  readonly hasWithdrawn: boolean;
  /** One of these may still land, and its submission is unfinished, in whichever lane. */
  readonly hasOpenWrapper: boolean;
  /** The waiver nonce below which the lane has accounted for all; undefined if it has never looked. */
  readonly knownBelow: bigint | undefined;
}

/** The status of a lane with the floors that it shows. */
export type LaneReading = LaneStatus & LaneFloor;

type LaneRow = Omit<LaneReading, "wait"> & {
  readonly waitsCause?: LaneWaitCause;
  readonly waitsFor?: string;
  readonly waitsMs?: number;
};

/** No breaker is open for longer, unless the database's clock was set back. */
const IS_BROKEN = "(l.broken_until > now() and l.broken_until <= now() + interval '30 seconds')";

const LANE_STATUSES = `with floor as materialized (
  select l.waiver, coalesce(f.time, '-infinity') as time, coalesce(f.block, 0) as block
  from lanes l left join unnest($3::bytea[], $4::timestamptz[], $5::bigint[]) as f (waiver, time, block)
    on f.waiver = l.waiver
  where l.chain = $1
), queued as (
  select f.waiver, found.* from floor f cross join lateral (
    select count(*)::int, min(accepted_at) as oldest, min(look_at) as first_look_at, min(look_at) filter (where not is_waiting) as first_place,
           (count(*) filter (where signings > 0 and is_waiting and look_at > now()))::int as set_aside
    from unfinished u
    where u.chain = $1 and u.waiver = f.waiver and u.waiver_nonce is null and u.state = 'queued'
      and u.look_at >= f.time) found
), unfinalized as (
  select f.waiver, (
    select u.block_number from unfinished u
    where u.chain = $1 and u.waiver = f.waiver and u.block_number >= f.block order by u.block_number limit 1) as lowest
  from floor f
), in_flight as (
  select l.waiver, found.count, found.oldest from lanes l cross join lateral (
    select count(*)::int, min(accepted_at) as oldest from unfinished u
    where u.chain = $1 and u.waiver = l.waiver and u.waiver_nonce >= l.nonce_floor and u.state <> 'included') found
  where l.chain = $1
)
select l.waiver, l.state,
       case when l.state <> 'open' or ${IS_BROKEN} then l.reason end as reason,
       ${IS_BROKEN} as broken,
       case when l.lease_until > now() then l.waits_cause end as "waitsCause", l.waits_for as "waitsFor",
       (extract(epoch from now() - l.waits_since) * 1000)::float8 as "waitsMs",
       case when l.lease_until > now() and not l.watch_only then l.owner
            when l.reserved_until > now() then l.reserved_for end as owner,
       queued.count as queued, in_flight.count as "inFlight",
       coalesce(extract(epoch from now() - queued.oldest) * 1000, 0)::float8 as "oldestMs",
       coalesce(extract(epoch from now() - in_flight.oldest) * 1000, 0)::float8 as "oldestInFlightMs",
       queued.set_aside as "setAside",
       case when l.foreign_use_at > now() - $2::interval then l.foreign_uses else 0 end as "foreignUses",
       unfinalized.lowest is not null as "hasUnfinalized",
       coalesce(unfinalized.lowest, floor.block) as "blockFloor",
       exists (select from withdrawn w where w.chain = l.chain and w.waiver = l.waiver) as "hasWithdrawn",
       -- A subquery of one value: for "exists", the planner may read all of \`unfinished\` at once.
       coalesce((select true from withdrawn w
                 where w.chain = l.chain and w.waiver = l.waiver and w.open_for is not null
                   and (select true from unfinished u where u.id = w.open_for) limit 1), false) as "hasOpenWrapper", l.known_below as "knownBelow",
       least(queued.first_look_at, now()) as "queueFloor", least(queued.first_place, now()) as "queueHead",
       pg_postmaster_start_time()::text as "serverStart"
from lanes l join floor on floor.waiver = l.waiver join queued on queued.waiver = l.waiver
  join unfinalized on unfinalized.waiver = l.waiver join in_flight on in_flight.waiver = l.waiver
where l.chain = $1 order by l.waiver`;

/**
 * Reads the status of all lanes of a chain, in the order of their waivers.
 * @param floors the floors by an earlier reading. What lies below one of them is not counted.
 */
export async function findLaneStatuses(
  { pool }: Store,
  chain: number,
  floors: readonly LaneFloor[] = [],
): Promise<LaneReading[]> {
  const rows = await readRows<LaneRow>(pool, LANE_STATUSES, [
    chain,
    FOREIGN_USE_MEMORY,
    byteaArray(floors.map(({ waiver }) => waiver)),
    floors.map(({ queueFloor }) => queueFloor),
    floors.map(({ blockFloor }) => blockFloor.toString()),
  ]);
  return rows.map(({ waitsCause: cause, waitsFor: sentence, waitsMs: ms = 0, ...lane }) => {
    return { ...lane, wait: cause && sentence ? { cause, sentence, ms } : undefined };
  });
}
