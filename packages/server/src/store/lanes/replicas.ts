import { byteaArray } from "../statements.js";
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

/** Records that the replica is alive for the next `forMs`, and which waivers' accounts it has. */
export async function keepAlive(
  { pool }: Store,
  { chain, id }: ReplicaRef,
  waivers: readonly Uint8Array[],
  forMs: number,
): Promise<void> {
  await pool.query(
    // Each replica deletes others and updates itself: without `skip locked`, two of them could wait for each other.
    `with dead as (delete from replicas where (chain, id) in (
       select chain, id from replicas
       where chain = $1 and id <> $2 and alive_until < now() - interval '1 minute' for update skip locked))
     insert into replicas (chain, id, waivers, alive_until)
     values ($1, $2, $3::bytea[], now() + $4 * interval '1 millisecond')
     on conflict (chain, id) do update set waivers = excluded.waivers, alive_until = excluded.alive_until`,
    [chain, id, byteaArray(waivers), forMs],
  );
}

/** Removes a replica that has ended. */
export async function forgetReplica({ pool }: Store, { chain, id }: ReplicaRef): Promise<void> {
  await pool.query("delete from replicas where chain = $1 and id = $2", [chain, id]);
}

/** Reads the replicas that are alive, and the lanes with their owners, at one moment. */
export async function findReplicasAndLanes(
  { pool }: Store,
  chain: number,
): Promise<{ readonly replicas: readonly LiveReplica[]; readonly lanes: readonly OwnedLane[] }> {
  const { rows } = await pool.query<{ kind: "replica" | "lane"; name: string; waivers_or_owner: string[] }>(
    `select 'replica' as kind, id::text as name,
            array(select encode(w, 'hex') from unnest(waivers) w) as waivers_or_owner
     from replicas where chain = $1 and alive_until > now()
     union all
     select 'lane', encode(waiver, 'hex'),
            array_remove(array[case when lease_until > now() and not watch_only then owner::text
                                    when reserved_until > now() then reserved_for::text end], null)
     from lanes where chain = $1 and state <> 'retired'
     order by kind, name`,
    [chain],
  );
  const of = (kind: "replica" | "lane") => rows.filter((row) => row.kind === kind);
  return {
    replicas: of("replica").map(({ name, waivers_or_owner: waivers }) => ({ id: name, waivers })),
    lanes: of("lane").map(({ name, waivers_or_owner: [owner] }) => ({ waiver: name, owner })),
  };
}
