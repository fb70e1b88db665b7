import type { HeldLane } from "./lease.js";
import { prepared } from "./parameters.js";
import { toBuffer } from "./rows.js";
import type { Store } from "./store.js";

/** A submission that holds a waiver nonce and is not settled. */
export interface InFlightSubmission {
  readonly id: string;
  readonly state: "signed" | "broadcast";
  readonly signings: number;
  readonly waiverNonce: bigint;
  readonly wrapperRaw: Uint8Array;
  readonly wrapperHash: Uint8Array;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
}

interface InFlightRow {
  id: string;
  signings: number;
  state: "signed" | "broadcast";
  waiver_nonce: string;
  wrapper_raw: Buffer;
  wrapper_hash: Buffer;
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
}

/** Which of them: a state, or those last sent a while ago. */
export interface InFlightFilter {
  readonly state?: InFlightSubmission["state"];
  readonly sentBeforeMs?: number;
  readonly limit: number;
}

/** What the lane has signed or broadcast, in the order of its waiver nonces. */
export async function findInFlight(
  { pool }: Store,
  lane: HeldLane,
  filter: InFlightFilter,
): Promise<InFlightSubmission[]> {
  const { rows } = await pool.query<InFlightRow>(
    prepared(
      `select id, state, signings, waiver_nonce, wrapper_raw, wrapper_hash, inner_hash, sender, sender_nonce
       from unfinished
       where chain = $1 and waiver = $2 and waiver_nonce is not null
         and state in ('signed', 'broadcast') and ($3::submission_state is null or state = $3)
         and ($4::float8 is null or broadcast_at < now() - $4 * interval '1 millisecond')
       order by waiver_nonce limit $5`,
      [lane.chain, toBuffer(lane.waiver), filter.state ?? null, filter.sentBeforeMs ?? null, filter.limit],
    ),
  );
  return rows.map((row) => ({
    id: row.id,
    state: row.state,
    signings: row.signings,
    waiverNonce: BigInt(row.waiver_nonce),
    wrapperRaw: row.wrapper_raw,
    wrapperHash: row.wrapper_hash,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
  }));
}

/** A submission whose waiver nonce the chain has passed: what it takes to settle it. */
export type SettlementCandidate = Omit<InFlightSubmission, "state" | "wrapperRaw" | "wrapperHash">;

/** What the lane has signed or broadcast under the waiver nonces below this one, from the lowest on. */
export async function findCandidatesBelow(
  { pool }: Store,
  lane: HeldLane,
  waiverNonce: bigint,
  limit: number,
): Promise<SettlementCandidate[]> {
  const { rows } = await pool.query<Omit<InFlightRow, "state" | "wrapper_raw" | "wrapper_hash">>(
    prepared(
      `select id, signings, waiver_nonce, inner_hash, sender, sender_nonce from unfinished
       where chain = $1 and waiver = $2 and waiver_nonce is not null and waiver_nonce < $3
         and state in ('signed', 'broadcast')
       order by waiver_nonce limit $4`,
      [lane.chain, toBuffer(lane.waiver), waiverNonce.toString(), limit],
    ),
  );
  return rows.map((row) => ({
    id: row.id,
    signings: row.signings,
    waiverNonce: BigInt(row.waiver_nonce),
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
  }));
}

/** A submission that is not finished, as the sweep sees it. */
export interface UnfinishedSubmission {
  readonly id: string;
  readonly state: "queued" | "signed" | "broadcast";
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  readonly signings: number;
  readonly waiverNonce?: bigint;
}

interface ActiveRow {
  id: string;
  state: UnfinishedSubmission["state"];
  inner_hash: Buffer;
  sender: Buffer;
  sender_nonce: string;
  signings: number;
  waiver_nonce: string | null;
}

/** What a lane has not finished, by id from `after` on. */
export async function findUnfinished(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  after: string,
  limit: number,
): Promise<UnfinishedSubmission[]> {
  const { rows } = await pool.query<ActiveRow>(
    `select id, state, inner_hash, sender, sender_nonce, signings, waiver_nonce from unfinished
     where chain = $1 and waiver = $2 and state in ('queued', 'signed', 'broadcast') and id > $3
     order by id limit $4`,
    [lane.chain, toBuffer(lane.waiver), after, limit],
  );
  return rows.map((row) => ({
    id: row.id,
    state: row.state,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    signings: row.signings,
    ...(row.waiver_nonce !== null && { waiverNonce: BigInt(row.waiver_nonce) }),
  }));
}

/** A submission that is in a block which may still go away. */
export interface UnfinalizedSubmission {
  readonly id: string;
  readonly innerHash: Uint8Array;
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
}

/** What the lane has in blocks that are not final, from the lowest block on. */
export async function findUnfinalized(
  { pool }: Store,
  lane: HeldLane,
  limit: number,
): Promise<UnfinalizedSubmission[]> {
  const { rows } = await pool.query<{
    id: string;
    inner_hash: Buffer;
    block_number: string;
    block_hash: Buffer;
  }>(
    `select id, inner_hash, block_number, block_hash from unfinished
     where chain = $1 and waiver = $2 and block_number is not null order by block_number limit $3`,
    [lane.chain, toBuffer(lane.waiver), limit],
  );
  return rows.map(({ id, inner_hash: innerHash, block_number, block_hash: blockHash }) => ({
    id,
    innerHash,
    blockNumber: BigInt(block_number),
    blockHash,
  }));
}

/** A waiver nonce that is taken, and by which submission. */
export interface AssignedNonce {
  readonly id: string;
  readonly waiverNonce: bigint;
  /** The address in hex. */
  readonly sender: string;
}

/** The waiver nonces of what the lane has signed or broadcast, ascending. */
export async function findAssignedNonces(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
): Promise<AssignedNonce[]> {
  const { rows } = await pool.query<{ id: string; waiver_nonce: string; sender: string }>(
    `select id, waiver_nonce, encode(sender, 'hex') as sender from unfinished
     where chain = $1 and waiver = $2 and waiver_nonce is not null and state in ('signed', 'broadcast') order by waiver_nonce`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  return rows.map(({ id, waiver_nonce, sender }) => ({ id, waiverNonce: BigInt(waiver_nonce), sender }));
}

/**
 * The first waiver nonce that may be free: the chain's next, or the one after the highest that we saw in a block
 * (a node may lag behind what it told before).
 */
export async function findFirstFreeNonce(
  { pool }: Store,
  lane: HeldLane,
  chainNonce: bigint,
): Promise<bigint> {
  const { rows } = await pool.query<{ next: string | null }>(
    `select greatest(
       (select max(waiver_nonce) from finished where chain = $1 and waiver = $2 and waiver_nonce is not null),
       (select max(waiver_nonce) from unfinished
        where chain = $1 and waiver = $2 and waiver_nonce is not null and state = 'included')) + 1 as next`,
    [lane.chain, toBuffer(lane.waiver)],
  );
  const next = BigInt(rows[0]?.next ?? 0);
  return next > chainNonce ? next : chainNonce;
}
