import type { Pool } from "../database/database.js";
import { notify } from "../database/notifications.js";
import { channelName } from "../database/sharedDatabase.js";
import { byteaArray, prepared } from "../database/statements.js";
import type { Store } from "../store.js";

/** A process that serves a chain, by its name among the replicas. */
export interface ReplicaRef {
  readonly chain: number;
  /** The UUID of the replica. */
  readonly id: string;
}

/** A replica that is alive, and the waivers whose accounts it has, in lower-case hex without a prefix. */
export interface LiveReplica {
  readonly id: string;
  readonly waivers: readonly string[];
}

/** A lane that is not retired, and the replica that has it, or to which it is being handed over. */
export interface OwnedLane {
  /** Lower-case hex without a prefix. */
  readonly waiver: string;
  readonly owner: string | undefined;
}

/**
 * Records that the replica is alive for the next `forMs`, and which waivers' accounts it has. Reads the replicas that are
 * alive, and the lanes with their owners, at one moment.
 */
export async function keepAlive(
  { pool }: Store,
  { chain, id }: ReplicaRef,
  waivers: readonly Uint8Array[],
  forMs: number,
): Promise<{ readonly replicas: readonly LiveReplica[]; readonly lanes: readonly OwnedLane[] }> {
  const { rows } = await pool.query<{ kind: "replica" | "lane"; name: string; waivers_or_owner: string[] }>(
    prepared(KEEP_ALIVE, [chain, id, byteaArray(waivers), Math.min(forMs, LONGEST_MS)]),
  );
  const of = (kind: "replica" | "lane") => rows.filter((row) => row.kind === kind);
  return {
    replicas: of("replica").map(({ name, waivers_or_owner: found }) => ({ id: name, waivers: found })),
    lanes: of("lane").map(({ name, waivers_or_owner: [owner] }) => ({ waiver: name, owner })),
  };
}

/** No replica says that it lives for longer, in ms. A later end was written before the database's clock was set back. */
const LONGEST_MS = 30_000;
const IS_ALIVE = `alive_until > now() and alive_until <= now() + interval '${LONGEST_MS} milliseconds'`;

/** Each replica deletes others and updates itself: without `skip locked`, two of them could wait for each other. */
const KEEP_ALIVE = `with dead as (
    delete from replicas where (chain, id) in (
      select chain, id from replicas
      where chain = $1 and id <> $2 and alive_until < now() - interval '1 minute' for update skip locked)
  ), own as (
    insert into replicas (chain, id, waivers, alive_until)
    values ($1, $2, $3::bytea[], now() + $4 * interval '1 millisecond')
    on conflict (chain, id) do update set waivers = excluded.waivers, alive_until = excluded.alive_until
    returning id, waivers
  ), alive as (
    -- The statement does not see its own write.
    select id, waivers from own
    union all select id, waivers from replicas where chain = $1 and id <> $2 and ${IS_ALIVE}
  )
  select 'replica' as kind, id::text as name,
         array(select encode(w, 'hex') from unnest(waivers) w) as waivers_or_owner from alive
  union all
  select 'lane', encode(waiver, 'hex'),
         array_remove(array[case when lease_until > now() and not watch_only then owner::text
                                 when reserved_until > now() then reserved_for::text end], null)
  from lanes where chain = $1 and state <> 'retired'
  order by kind, name`;

/** Reads the replicas that are alive. */
export async function findReplicas({ pool }: Store, chain: number): Promise<LiveReplica[]> {
  const { rows } = await pool.query<{ id: string; waivers: string[] }>(
    `select id, array(select encode(w, 'hex') from unnest(waivers) w) as waivers from replicas
     where chain = $1 and ${IS_ALIVE} order by id`,
    [chain],
  );
  return rows;
}

/** Removes a replica that has ended. */
export async function forgetReplica({ pool }: Store, { chain, id }: ReplicaRef): Promise<void> {
  await pool.query("delete from replicas where chain = $1 and id = $2", [chain, id]);
}

/** The channel by which an operator asks every replica to read its waivers' keys again. */
export const reloadChannel = (pool: Pick<Pool, "schema">) => channelName(pool, "gas_waiver_read");

/** Asks every replica to read its waivers' keys again. One that does not listen just then misses it. */
export async function requestReload(store: Store): Promise<void> {
  await notify(store, reloadChannel(store.pool), ["waivers"]);
}
