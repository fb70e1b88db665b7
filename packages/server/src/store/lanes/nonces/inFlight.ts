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
  /** The API key under which it came. */
  readonly keyId: string;
  /** The replica whose clients wait for the result. */
  readonly origin: string;
  /** None of its wrappers is in a block below this one. */
  readonly sinceBlock?: bigint;
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
  key_id: string;
  origin: string;
  since_block: string | null;
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
      `select id, state, signings, waiver_nonce, wrapper_raw, wrapper_hash, inner_hash, sender, sender_nonce, key_id, origin,
              since_block from unfinished
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
    keyId: row.key_id,
    origin: row.origin,
    ...(row.since_block !== null && { sinceBlock: BigInt(row.since_block) }),
  }));
}
