import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { WatchContext } from "../context.js";
import { releaseToOthers } from "../law/releaseToOthers.js";

/** After this many blocks without the lane's next nonce, its wrappers count as forsaken. */
const MAX_BLOCKS_WITHOUT = 5n;

/**
 * Releases submissions in flight in a lane in which nobody signs (L10). There, a nonce that the pool has lost stays
 * unfilled and holds up all wrappers above. The release begins after some blocks and `resendAfterMs` in which the waiver's
 * next nonce stayed the same.
 */
export function createForsakenRelease(context: WatchContext) {
  return async (held: HeldLane): Promise<void> => {
    const { still } = context.headOfLine;
    if (still === undefined || still.blocks < MAX_BLOCKS_WITHOUT || still.ms < context.options.resendAfterMs)
      return;
    await releaseToOthers(held, "no signer", context);
  };
}
