import { bytesToHex, decodeTransaction } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { WatchContext } from "../context.js";
import type { Misplacement } from "./law.js";
import { requeueMisplaced } from "./requeueMisplaced.js";

/** Submissions that are released at a time. */
const BATCH = 200;

/**
 * Queues again what is in flight in a lane whose line does not move (L10), as far as another lane may carry it. The lane directory
 * moves it there. The InnerTx's own nonce lets it run once, however many wrappers carry it.
 */
export async function releaseToOthers(
  held: HeldLane,
  why: Extract<Misplacement, "no signer" | "no policy" | "jammed">,
  { store, routing, log, onNoncesFreed }: Pick<WatchContext, "store" | "routing" | "log" | "onNoncesFreed">,
): Promise<void> {
  const waiver = bytesToHex(held.waiver);
  for (let from: bigint | undefined = 0n; from !== undefined; ) {
    const inFlight: InFlightSubmission[] = await findInFlight(store, held, { from, limit: BATCH });
    const released = await requeueMisplaced(
      held,
      inFlight.filter(({ wrapperRaw }) =>
        routing.hasOtherCarrier(held.waiver, decodeTransaction(wrapperRaw).data),
      ),
      why,
      { afterMs: 0, store, onNoncesFreed },
    );
    const ids = released.map(({ id }) => id);
    if (ids.length > 0)
      log.warn({ ids, why, waiver }, "blocks leave out the lane's wrappers; other lanes carry them");
    const last = inFlight.length < BATCH ? undefined : inFlight.at(-1);
    from = last && last.waiverNonce + 1n;
  }
}
