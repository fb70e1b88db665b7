import { readRows } from "../../database/statements.js";
import type { Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";
import { ABOVE_FLOOR } from "../nonces/nonceFloor.js";

/** A submission that is in no block and has not failed. */
export interface UnfinishedSubmission {
  readonly id: string;
  readonly state: "queued" | "signed" | "broadcast";
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** The number of wrappers that were signed for it; with 0 it cannot be on the chain through this service. */
  readonly signings: number;
  /** The number of its wrappers that blocks have left out, or show as failed. */
  readonly strikes: number;
  /** Undefined for a queued submission. */
  readonly waiverNonce?: bigint;
  /** 32 bytes; undefined for a queued submission. */
  readonly wrapperHash?: Uint8Array;
  /** None of its wrappers is in a block below this one. */
  readonly sinceBlock?: bigint;
}

/** The columns of an {@link UnfinishedSubmission}. */
export const UNFINISHED_COLUMNS = `id, state, inner_hash as "innerHash", sender, sender_nonce as "senderNonce", signings, strikes,
  waiver_nonce as "waiverNonce", wrapper_hash as "wrapperHash", since_block as "sinceBlock"`;

/** Finds the unfinished submissions of a lane with an id above `after`, in the order of their ids. */
export async function findUnfinished(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  after: string,
  limit: number,
): Promise<UnfinishedSubmission[]> {
  return await readRows<UnfinishedSubmission>(
    pool,
    `select ${UNFINISHED_COLUMNS} from unfinished
     where chain = $1 and waiver = $2 and state in ('queued', 'signed', 'broadcast') and id > $3
     order by id limit $4`,
    [lane.chain, lane.waiver, after, limit],
  );
}

/** A submission that is signed or broadcast: it holds a waiver nonce, and is in no block yet. */
export interface InFlightSubmission extends UnfinishedSubmission {
  readonly state: "signed" | "broadcast";
  readonly waiverNonce: bigint;
  readonly wrapperRaw: Uint8Array;
  readonly wrapperHash: Uint8Array;
  /** The API key under which it came. */
  readonly keyId: string;
  /** The replica whose clients wait for the result. */
  readonly origin: string;
}

/** Filters by state, and by the age of the last broadcast. */
export interface InFlightFilter {
  readonly state?: InFlightSubmission["state"];
  /** Only submissions that were last broadcast at least this long ago, in ms. */
  readonly sentBeforeMs?: number;
  /** Only submissions under this waiver nonce or above. */
  readonly from?: bigint;
  readonly limit?: number;
}

type LaneKey = Pick<HeldLane, "chain" | "waiver">;

/** Finds what the lane has signed or broadcast, in the order of the waiver nonces. */
export async function findInFlight(
  { pool }: Store,
  lane: LaneKey,
  filter: InFlightFilter = {},
): Promise<InFlightSubmission[]> {
  return await readRows<InFlightSubmission>(
    pool,
    `select ${UNFINISHED_COLUMNS}, wrapper_raw as "wrapperRaw", key_id as "keyId", origin from unfinished
     where chain = $1 and waiver = $2 and ${ABOVE_FLOOR}
       and state in ('signed', 'broadcast') and ($3::submission_state is null or state = $3)
       and ($4::float8 is null or broadcast_at < now() - $4 * interval '1 millisecond')
       and waiver_nonce >= $6
     order by waiver_nonce limit $5`,
    [
      lane.chain,
      lane.waiver,
      filter.state ?? null,
      filter.sentBeforeMs ?? null,
      filter.limit ?? null,
      String(filter.from ?? 0n),
    ],
  );
}

/**
 * Finds the lowest waiver nonce that may be free: the chain's next nonce, or the one above the highest nonce that the
 * store has in a block. A node may answer with a lower nonce than before.
 * @param chainNonce the waiver's next nonce by the node's answer.
 */
export async function findFirstUnusedNonce(
  { pool }: Store,
  lane: HeldLane,
  chainNonce: bigint,
): Promise<bigint> {
  const [{ next = 0n } = {}] = await readRows<{ next?: bigint }>(
    pool,
    `select greatest(
       highest_final_nonce($1, $2),
       (select max(waiver_nonce) from unfinished
        where chain = $1 and waiver = $2 and ${ABOVE_FLOOR} and state = 'included')) + 1 as next`,
    [lane.chain, lane.waiver],
  );
  return next > chainNonce ? next : chainNonce;
}
