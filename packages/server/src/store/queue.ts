import { type Lane, type Moved, writeAsOwner } from "./lease.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

/** What the lane needs to know of a submission that waits for its turn. */
export interface QueuedSubmission {
  readonly id: string;
  readonly innerRaw: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** How often it was signed before. */
  readonly signings: number;
  /** How long ago it was accepted, by the database's clock. */
  readonly ageMs: number;
}

/** A sender with what it has queued, in the order of its nonces. */
export interface QueuedSender {
  readonly sender: Uint8Array;
  readonly queued: readonly QueuedSubmission[];
  /** The sender's nonces that this lane has signed or broadcast. */
  readonly underWay: ReadonlySet<bigint>;
}

/** What a lane has to do and has under way, at one moment. */
export interface LaneWork {
  readonly senders: readonly QueuedSender[];
  /** The waiver nonces that are signed or broadcast: how many, and between which. */
  readonly taken: { readonly count: number; readonly lowest: bigint; readonly highest: bigint };
  /** The first waiver nonce above all that were seen in a block. */
  readonly afterIncluded: bigint;
}

/** At most so many queued ones at once, and so many under way with them. */
export interface WorkLimits {
  readonly limit: number;
  readonly maxInFlight: number;
}

/**
 * What a lane is to look at next: the API keys take turns, each with its oldest submissions
 * whose time has come, so that one key's flood does not delay another's single transaction. With each comes
 * whatever else its sender has queued. By sender, in the order of the senders' nonces.
 *
 * All of it is one query: a step waits for each, and one moment cannot contradict itself.
 */
export async function laneWork(
  { pool }: Store,
  lane: Lane,
  { limit, maxInFlight }: WorkLimits,
): Promise<LaneWork> {
  const { rows } = await pool.query<WorkRow>(
    `with recursive keys as (
       (select key_id from submissions where chain = $1 and waiver = $2 and state = 'queued' order by key_id limit 1)
       union all
       select (select s.key_id from submissions s
               where s.chain = $1 and s.waiver = $2 and s.state = 'queued' and s.key_id > k.key_id
               order by s.key_id limit 1)
       from keys k where k.key_id is not null
     ), taken as (
       select count(*)::int as taken, min(waiver_nonce) as lowest, max(waiver_nonce) as highest
       from submissions where chain = $1 and waiver = $2 and state in ('signed', 'broadcast')
     ), turns as (
       select t.id, t.sender, row_number() over (partition by k.key_id order by t.id) as turn
       from keys k cross join lateral (
         select s.id, s.sender from submissions s
         where s.chain = $1 and s.waiver = $2 and s.state = 'queued' and s.key_id = k.key_id and s.look_at <= now()
         order by s.id limit $3
       ) t
     ), chosen as (
       select sender, min(turn) as turn, min(id::text) as first
       from (select * from turns order by turn, id
             limit (select least($3, greatest(0, $4::int - taken)) from taken)) t
       group by sender
     ), work as (
       select c.turn, c.first, s.id, s.inner_raw, s.inner_hash, s.sender, s.sender_nonce, s.signings,
              extract(epoch from now() - s.accepted_at) * 1000 as age_ms,
              (select array_agg(u.sender_nonce::text) from submissions u
               where u.chain = $1 and u.waiver = $2 and u.sender = c.sender and u.state in ('signed', 'broadcast'))
                as under_way
       from chosen c join submissions s on s.chain = $1 and s.waiver = $2 and s.sender = c.sender and s.state = 'queued'
       order by c.turn, c.first, s.sender_nonce limit 2 * $3
     )
     select t.taken, t.lowest, t.highest,
            (select max(waiver_nonce) from submissions where chain = $1 and waiver = $2 and state = 'included'
             and waiver_nonce is not null) as included,
            w.id, w.inner_raw, w.inner_hash, w.sender, w.sender_nonce, w.signings, w.age_ms, w.under_way
     from taken t left join work w on true order by w.turn, w.first, w.sender_nonce`,
    [lane.chain, toBuffer(lane.waiver), limit, maxInFlight],
  );
  const senders = new Map<string, QueuedSender & { queued: QueuedSubmission[] }>();
  for (const row of rows) {
    if (row.id === null) continue;
    const name = row.sender.toString("hex");
    const known = senders.get(name);
    if (known) known.queued.push(queuedOf(row));
    else {
      const underWay = new Set((row.under_way ?? []).map(BigInt));
      senders.set(name, { sender: row.sender, queued: [queuedOf(row)], underWay });
    }
  }
  const [state] = rows;
  return {
    senders: [...senders.values()],
    taken: {
      count: state?.taken ?? 0,
      lowest: BigInt(state?.lowest ?? 0),
      highest: BigInt(state?.highest ?? 0),
    },
    afterIncluded: state?.included == null ? 0n : BigInt(state.included) + 1n,
  };
}

interface LaneRow {
  taken: number;
  lowest: string | null;
  highest: string | null;
  included: string | null;
}

type WorkRow = LaneRow & ((QueuedRow & { under_way: string[] | null }) | { id: null });

interface QueuedRow {
  id: string;
  inner_raw: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  age_ms: string;
}

function queuedOf(row: QueuedRow): QueuedSubmission {
  const { id, inner_raw: innerRaw, inner_hash: innerHash, sender, sender_nonce, signings, age_ms } = row;
  return {
    id,
    innerRaw,
    innerHash,
    sender,
    senderNonce: BigInt(sender_nonce),
    signings,
    ageMs: Number(age_ms),
  };
}

/** Looks at these again after `afterMs`, not before. */
export function postpone(
  store: Store,
  lane: Lane,
  ids: readonly string[],
  afterMs: number,
): Promise<Moved[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `update submissions set look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state = 'queued'`,
    [afterMs],
  );
}

/** How much waits for a broadcast, by API key (D22). */
export async function queueLengths({ pool }: Store, chain: number): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ key_id: string; count: string }>(
    "select key_id, count(*) from submissions where chain = $1 and state = 'queued' group by key_id",
    [chain],
  );
  return new Map(rows.map(({ key_id, count }) => [key_id, Number(count)]));
}

/** Ends what has waited longer than `maxQueueMs` without a broadcast (a final TIMEOUT); returns what it ended. */
export async function expireQueued(
  { pool }: Store,
  chain: number,
  maxQueueMs: number,
): Promise<(Moved & { message: string })[]> {
  const { rows } = await pool.query<Moved & { message: string }>(
    `update submissions set state = 'failed', error_reason = 'NOT_BROADCAST', finished_at = now(),
       error_message = 'it waited for a broadcast longer than ' || ($2::float8)::text || ' ms and was given up'
     where chain = $1 and state = 'queued' and accepted_at < now() - $2::float8 * interval '1 millisecond'
     returning id, origin, error_message as message`,
    [chain, maxQueueMs],
  );
  return rows;
}
