import { bytesEqual } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import { findWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { WatchContext } from "../context.js";
import { requeueMisplaced } from "../law/requeue.js";
import { findLowestFreeNonce } from "../sign/placeAndSign.js";

/**
 * Queues again submissions whose nonce is occupied in the pool, where both wrappers could wait for ever: the pool's wrapper
 * waits for nonces below, and the lane signs nothing below while this submission is not broadcast. The pool's wrapper is a
 * withdrawn one of the lane, or stands above a free nonce, such as a wrapper that the store has lost in a failover. Other
 * submissions stay: the chain will show whose wrapper holds the nonce.
 * @returns those that were queued.
 */
export async function requeueOccupied(
  held: HeldLane,
  occupied: readonly InFlightSubmission[],
  context: Pick<WatchContext, "store" | "chain" | "onNoncesFreed">,
): Promise<readonly InFlightSubmission[]> {
  if (occupied.length === 0) return [];
  const { store, chain } = context;
  const nonces = occupied.map(({ waiverNonce }) => waiverNonce);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const presences = await chain.lookUp(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const inPool = new Map(
    withdrawn
      .filter((_, i) => presences[i]?.is === "shown")
      .map(({ waiverNonce, wrapperHash }) => [waiverNonce, wrapperHash]),
  );
  const isByWithdrawn = ({ waiverNonce, wrapperHash }: InFlightSubmission) => {
    const other = inPool.get(waiverNonce);
    return other !== undefined && !bytesEqual(other, wrapperHash);
  };
  const [chainNonce = 0n] = await chain.nonces([held.waiver]);
  const free = await findLowestFreeNonce(store, held, chainNonce);
  const blocked = occupied.filter((one) => isByWithdrawn(one) || one.waiverNonce > free);
  await requeueMisplaced(held, blocked, "nonce occupied", context);
  return blocked;
}
