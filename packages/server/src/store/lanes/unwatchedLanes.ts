import type { Store } from "../store.js";
import type { LaneState } from "./laneStatus.js";

/** A lane that nobody owns. */
export interface UnwatchedLane {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly state: LaneState;
}

/**
 * Finds the lanes without an owner in which something may still happen on the chain: a wrapper is in flight or in a block that
 * is not final, or a withdrawn one is open for an unfinished submission.
 */
export async function findUnwatchedLanes({ pool }: Store, chain: number): Promise<UnwatchedLane[]> {
  const { rows } = await pool.query<{ waiver: Buffer; state: LaneState }>(
    `select l.waiver, l.state from lanes l where l.chain = $1 and l.lease_until < now() and (
       exists (select from unfinished u where u.chain = l.chain and u.waiver = l.waiver and u.waiver_nonce is not null)
       or exists (select from unfinished u where u.chain = l.chain and u.waiver = l.waiver and u.block_number is not null)
       or exists (select from withdrawn w join unfinished u on u.id = w.open_for
                  where w.chain = l.chain and w.waiver = l.waiver and w.open_for is not null))
     order by l.waiver`,
    [chain],
  );
  return rows;
}
