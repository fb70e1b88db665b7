import type { Lane } from "./lease.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

/** A submission that holds a waiver nonce and is not settled. */
export interface UnderWay {
  readonly id: string;
  readonly state: "signed" | "broadcast";
  readonly waiverNonce: bigint;
  readonly wrapperRaw: Uint8Array;
  readonly wrapperHash: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
}

interface UnderWayRow {
  id: string;
  state: "signed" | "broadcast";
  waiver_nonce: string;
  wrapper_raw: Buffer;
  wrapper_hash: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
}

/** Which of them: a state, or those under a waiver nonce, or those last sent a while ago. */
export interface UnderWayFilter {
  readonly state?: UnderWay["state"];
  readonly belowNonce?: bigint;
  readonly sentBeforeMs?: number;
  readonly limit: number;
}

/** What the lane has signed or broadcast, in the order of its waiver nonces. */
export async function underWay({ pool }: Store, lane: Lane, filter: UnderWayFilter): Promise<UnderWay[]> {
  const { rows } = await pool.query<UnderWayRow>(
    `select id, state, waiver_nonce, wrapper_raw, wrapper_hash, inner_hash, sender, sender_nonce
     from submissions
     where chain = $1 and waiver = $2 and state in ('signed', 'broadcast')
       and ($3::submission_state is null or state = $3)
       and ($4::bigint is null or waiver_nonce < $4)
       and ($5::float8 is null or broadcast_at < now() - $5 * interval '1 millisecond')
     order by waiver_nonce limit $6`,
    [
      lane.chain,
      toBuffer(lane.waiver),
      filter.state ?? null,
      filter.belowNonce?.toString() ?? null,
      filter.sentBeforeMs ?? null,
      filter.limit,
    ],
  );
  return rows.map((row) => ({
    id: row.id,
    state: row.state,
    waiverNonce: BigInt(row.waiver_nonce),
    wrapperRaw: row.wrapper_raw,
    wrapperHash: row.wrapper_hash,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
  }));
}

/** A waiver nonce that is taken, and by which submission. */
export interface TakenNonce {
  readonly id: string;
  readonly waiverNonce: bigint;
  /** The address in hex. */
  readonly sender: string;
}

/** The waiver nonces of what the lane has signed or broadcast, ascending. */
export async function takenNonces({ pool }: Store, lane: Lane): Promise<TakenNonce[]> {
  const { rows } = await pool.query<{ id: string; waiver_nonce: string; sender: string }>(
    `select id, waiver_nonce, encode(sender, 'hex') as sender from submissions
     where chain = $1 and waiver = $2 and state in ('signed', 'broadcast') order by waiver_nonce`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  return rows.map(({ id, waiver_nonce, sender }) => ({ id, waiverNonce: BigInt(waiver_nonce), sender }));
}

/**
 * The first waiver nonce that may be free: the chain's next, or the one after the highest that we saw in a block
 * (a node may lag behind what it told before).
 */
export async function firstOpenNonce({ pool }: Store, lane: Lane, chainNonce: bigint): Promise<bigint> {
  const { rows } = await pool.query<{ next: string | null }>(
    `select max(waiver_nonce) + 1 as next from submissions
     where chain = $1 and waiver = $2 and waiver_nonce is not null and state = 'included'`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  const next = BigInt(rows[0]?.next ?? 0);
  return next > chainNonce ? next : chainNonce;
}
