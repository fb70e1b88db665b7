import type { Store } from "../../store.js";
import { type HeldLane, updateLaneAsOwner } from "../heldLane.js";

/** Finds the waiver nonce below which the lane has accounted for all; undefined if it has never looked. */
export async function findKnownBelow(
  { pool }: Store,
  { chain, waiver }: Pick<HeldLane, "chain" | "waiver">,
): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ known_below: string | null }>(
    "select known_below from lanes where chain = $1 and waiver = $2",
    [chain, waiver],
  );
  const known = rows[0]?.known_below;
  return known == null ? undefined : BigInt(known);
}

/**
 * All waiver nonces below this one are accounted for.
 * @throws {@link LeaseLostError}
 */
export async function raiseKnownBelow(store: Store, lane: HeldLane, nonce: bigint): Promise<void> {
  await updateLaneAsOwner(store, lane, "known_below = greatest(known_below, $5)", [nonce.toString()]);
}
