import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";
import { ABOVE_FLOOR } from "./nonceFloor.js";

/** A submission that is signed or broadcast: it holds a waiver nonce, and is in no block yet. */
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
  /** The replica whose clients wait for the result. */
  readonly origin: string;
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
  origin: string;
}

/** Filters by state, and by the age of the last broadcast. */
export interface InFlightFilter {
  readonly state?: InFlightSubmission["state"];
  /** Only submissions that were last broadcast at least this long ago, in ms. */
  readonly sentBeforeMs?: number;
  /** Only submissions under this waiver nonce or above. */
  readonly from?: bigint;
  readonly limit: number;
}

/** Finds what the lane has signed or broadcast, in the order of the waiver nonces. */
export async function findInFlight(
  { pool }: Store,
  lane: HeldLane,
  filter: InFlightFilter,
): Promise<InFlightSubmission[]> {
  const { rows } = await pool.query<InFlightRow>(
    prepared(
      `select id, state, signings, waiver_nonce, wrapper_raw, wrapper_hash, inner_hash, sender, sender_nonce, origin
       from unfinished
       where chain = $1 and waiver = $2 and ${ABOVE_FLOOR}
         and state in ('signed', 'broadcast') and ($3::submission_state is null or state = $3)
         and ($4::float8 is null or broadcast_at < now() - $4 * interval '1 millisecond')
         and waiver_nonce >= $6
       order by waiver_nonce limit $5`,
      [
        lane.chain,
        toBuffer(lane.waiver),
        filter.state ?? null,
        filter.sentBeforeMs ?? null,
        filter.limit,
        String(filter.from ?? 0n),
      ],
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
    origin: row.origin,
  }));
}

/** A submission in flight with its InnerTx, which another wrapper may carry. */
export type InFlightInner = Pick<InFlightSubmission, "id" | "state" | "waiverNonce" | "wrapperHash"> & {
  readonly innerRaw: Uint8Array;
};

/** Finds what the lane has signed or broadcast under this waiver nonce or above, with the InnerTxs; the lowest first. */
export async function findInFlightInners(
  { pool }: Store,
  lane: HeldLane,
  from: bigint,
  limit: number,
): Promise<InFlightInner[]> {
  const { rows } = await pool.query<InFlightRow & { inner_raw: Buffer }>(
    `select id, state, waiver_nonce, wrapper_hash, inner_raw from unfinished
     where chain = $1 and waiver = $2 and waiver_nonce >= $3 and ${ABOVE_FLOOR} and state in ('signed', 'broadcast')
     order by waiver_nonce limit $4`,
    [lane.chain, toBuffer(lane.waiver), from.toString(), limit],
  );
  return rows.map(({ id, state, waiver_nonce, wrapper_hash: wrapperHash, inner_raw: innerRaw }) => ({
    id,
    state,
    waiverNonce: BigInt(waiver_nonce),
    wrapperHash,
    innerRaw,
  }));
}

/** A submission whose waiver nonce the chain has used: either its wrapper is in a block, or another transaction. */
export type PassedSubmission = Omit<InFlightSubmission, "state" | "wrapperRaw" | "origin"> & {
  readonly sinceBlock?: bigint;
};

export interface PassedPage {
  /** The waiver's next nonce: the submissions are below. */
  readonly below: bigint;
  /** The lowest nonce of the page. Default: any. */
  readonly from?: bigint;
  /** The end of the range at which the page begins. */
  readonly first: "lowest" | "highest";
  readonly limit: number;
}

/** Finds what the lane has signed or broadcast under waiver nonces in a range, in its order. */
export async function findPassed(
  { pool }: Store,
  lane: HeldLane,
  { below, from = 0n, first, limit }: PassedPage,
): Promise<PassedSubmission[]> {
  const { rows } = await pool.query<
    Omit<InFlightRow, "state" | "wrapper_raw" | "origin"> & { since_block: string | null }
  >(
    prepared(
      `select id, signings, waiver_nonce, wrapper_hash, inner_hash, sender, sender_nonce, since_block from unfinished
       where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and waiver_nonce < $3 and waiver_nonce >= $4
         and state in ('signed', 'broadcast')
       order by waiver_nonce ${first === "lowest" ? "asc" : "desc"} limit $5`,
      [lane.chain, toBuffer(lane.waiver), below.toString(), from.toString(), limit],
    ),
  );
  return rows.map((row) => ({
    id: row.id,
    signings: row.signings,
    waiverNonce: BigInt(row.waiver_nonce),
    wrapperHash: row.wrapper_hash,
    innerHash: row.inner_hash,
    sender: row.sender,
    senderNonce: BigInt(row.sender_nonce),
    ...(row.since_block !== null && { sinceBlock: BigInt(row.since_block) }),
  }));
}
