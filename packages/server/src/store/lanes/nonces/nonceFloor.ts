import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { type HeldLane, IS_HELD_LANE, leaseParameters } from "../heldLane.js";

/**
 * The condition on the waiver nonces of a lane, on the parameters $1 and $2, by which a query passes over the dead entries of
 * the index. They stay as long as any transaction is open in the database, and there are three for each submission.
 */
export const ABOVE_FLOOR = "waiver_nonce >= (select nonce_floor from lanes where chain = $1 and waiver = $2)";

/** A node may answer with a lower nonce than another has, and a reorg may take some back. */
const SLACK = 100;
/** The floor goes up by at least this much, so that a busy lane writes it now and then. */
const STEP = 400;

/**
 * Raises the lane's floor to a little below the chain's next nonce, and below the lowest nonce that a submission has.
 * Writes nothing while it would change little, and nothing without the lease.
 * @param chainNonce the waiver's next nonce.
 */
export async function raiseNonceFloor(
  { pool }: Pick<Store, "pool">,
  lane: HeldLane,
  chainNonce: bigint,
): Promise<void> {
  await pool.query(
    prepared("select raise_nonce_floor($1, $2, $3, $4, $5, $6, $7)", [
      ...leaseParameters(lane),
      chainNonce.toString(),
      SLACK,
      STEP,
    ]),
  );
}

/**
 * The condition that no nonce is below the floor of the row that {@link HELD_LEASE} has locked. A write under a lower nonce would
 * hide its submission, so it lowers the floor first ({@link lowerNonceFloor}), in a statement of its own: in one that has
 * already locked the row, and submissions, it could wait for a write that waits for those.
 * @param nonces the number of the parameter with the nonces.
 */
export const isAboveFloor = (nonces: number) =>
  `exists (select from held where nonce_floor <= (select min(n) from unnest($${nonces}::bigint[]) n))`;

/**
 * Lowers the lane's floor to a nonce below it, as after a restore of the chain. Writes nothing without the lease.
 * @returns false if the nonce was not below it.
 */
export async function lowerNonceFloor(
  { pool }: Pick<Store, "pool">,
  lane: HeldLane,
  nonce: bigint,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    prepared(`update lanes set nonce_floor = $5 where ${IS_HELD_LANE} and nonce_floor > $5`, [
      ...leaseParameters(lane),
      nonce.toString(),
    ]),
  );
  return rowCount === 1;
}
