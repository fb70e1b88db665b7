import { prepared } from "../statements.js";
import type { Store } from "../store.js";
import { type HeldLane, leaseParameters } from "./heldLane.js";

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
 * A common table expression that lowers the floor where a submission gets a nonce below it, as after a restore of the chain.
 * It compares with the floor of the locked row: the statement itself may be older than a raise for whose end it has waited.
 * @param nonces the number of the parameter with the nonces.
 */
export const lowerNonceFloor = (nonces: number) => `lowered as (
    update lanes l set nonce_floor = given.lowest
    from held, (select min(n) as lowest from unnest($${nonces}::bigint[]) n) given
    where l.chain = $1 and l.waiver = $2 and held.nonce_floor > given.lowest
  )`;
