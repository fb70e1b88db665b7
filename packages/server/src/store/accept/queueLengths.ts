import { byteaArray, prepared } from "../database/statements.js";
import type { Store } from "../store.js";

/** The queued submissions of one API key. */
export interface QueueLength {
  readonly keyId: string;
  readonly queued: number;
  readonly isPublishable: boolean;
}

/**
 * Counts the queued submissions of each API key (D22).
 * @param floors the floors of the lanes' queues. What lies below one of them is not counted.
 */
export async function queueLengths(
  { pool, laneFloors }: Store,
  chain: number,
  floors = laneFloors.all,
): Promise<QueueLength[]> {
  const { rows } = await pool.query<{ key_id: string; count: string; is_publishable: boolean }>(
    prepared(
      `select found.key_id, sum(found.count) as count,
         exists (select from api_keys k where k.id = found.key_id and k.terms ? 'origins') as is_publishable
       from lanes l
       left join unnest($2::bytea[], $3::timestamptz[]) as floor (waiver, time) on floor.waiver = l.waiver
       cross join lateral (
         select u.key_id, count(*) from unfinished u
         where u.chain = $1 and u.waiver = l.waiver and u.waiver_nonce is null and u.state = 'queued'
           and u.look_at >= coalesce(floor.time, '-infinity') group by u.key_id) found
       where l.chain = $1 group by found.key_id`,
      [chain, byteaArray(floors.map(({ waiver }) => waiver)), floors.map(({ queueFloor }) => queueFloor)],
    ),
  );
  return rows.map(({ key_id, count, is_publishable }) => ({
    keyId: key_id,
    queued: Number(count),
    isPublishable: is_publishable,
  }));
}
