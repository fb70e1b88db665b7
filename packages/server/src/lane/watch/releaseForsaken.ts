import { bytesToHex, decodeTransaction } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import { requeueMisplaced } from "../law/requeueMisplaced.js";

/** After this many blocks without the lane's next nonce, its wrappers count as forsaken. */
const MAX_BLOCKS_WITHOUT = 5n;
/** Submissions that are released at a time. */
const BATCH = 200;

/**
 * Releases submissions in flight in a lane in which nobody signs (L10). There, a nonce that the pool has lost stays
 * unfilled and holds up all wrappers above. The release begins after some blocks and `resendAfterMs` in which the waiver's
 * next nonce stayed the same. Submissions that another lane may carry then go back to the queue, and the lane directory
 * moves them to other lanes. The InnerTx's own nonce lets it run once, however many wrappers carry it.
 * @param now a monotonic clock in ms.
 */
export function createForsakenRelease(
  { store, routing, options, log }: Pick<WatchContext, "store" | "routing" | "options" | "log">,
  now: () => number = () => performance.now(),
) {
  let waiting: { readonly nonce: bigint; readonly block: bigint; readonly at: number } | undefined;
  return async (held: HeldLane, block: bigint, waiverNonce: bigint): Promise<void> => {
    if (waiting?.nonce !== waiverNonce) waiting = { nonce: waiverNonce, block, at: now() };
    if (block - waiting.block < MAX_BLOCKS_WITHOUT || now() - waiting.at < options.resendAfterMs) return;
    const waiver = bytesToHex(held.waiver);
    for (let from: bigint | undefined = 0n; from !== undefined; ) {
      const inFlight: InFlightSubmission[] = await findInFlight(store, held, { from, limit: BATCH });
      const forsaken = inFlight.filter(({ wrapperRaw }) =>
        routing.hasOtherCarrier(held.waiver, decodeTransaction(wrapperRaw).data),
      );
      const released = await requeueMisplaced(held, forsaken, "no signer", { afterMs: 0, store });
      if (released.length > 0)
        log.warn(
          { ids: released.map(({ id }) => id), nonce: String(waiverNonce), waiver },
          "blocks leave out the wrappers of a lane in which nobody signs; other lanes carry their submissions",
        );
      const last = inFlight.length < BATCH ? undefined : inFlight.at(-1);
      from = last && last.waiverNonce + 1n;
    }
  };
}
