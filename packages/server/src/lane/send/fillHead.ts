import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneBreaker } from "../choose/laneBreaker.js";
import type { LaneContext } from "../context.js";
import { releaseToOthers, requeueMisplaced } from "../law/requeue.js";
import { assign } from "../sign/assign.js";
import type { Broadcaster } from "./broadcaster.js";

export interface FillContext extends LaneContext {
  readonly breaker: LaneBreaker;
  readonly broadcaster: Broadcaster;
}

/** The pause of a submission whose wrapper no node takes in the place of another. */
const HELD_MS = 250;
/** After this time, what blocks have left out is tried again where the lane has nothing else, in ms. */
const ALONE_MS = 30_000;
/** The most submissions to read: one of the first may wait for its sender, or be what blocks have left out. */
const MAX_READ = 16;

/**
 * Gives the nonce of a withdrawn head to another submission, the filler. Where no node takes the filler, the lane is jammed: its
 * breaker opens, and other lanes get what these may carry. Each time that the breaker probes the lane, another filler goes out.
 */
export async function fillHead(held: HeldLane, context: FillContext): Promise<void> {
  const { headOfLine: head, breaker, broadcaster } = context;
  const { still } = head;
  if (still === undefined || !head.isFree) return;
  const mayBeLeftOut = head.jam === undefined && still.ms > ALONE_MS;
  const options = { limit: MAX_READ, due: MAX_READ, onlyUnder: still.nonce, mayBeLeftOut };
  const { signed } = await assign(held, options, context);
  const [filler] = signed;
  if (filler === undefined) return;
  if (await broadcaster.sendFiller(held, filler)) {
    head.onFilled(filler.wrapperHash);
    await breaker.succeed();
    return;
  }
  head.onHeld(still.nonce);
  await requeueMisplaced(held, [filler], "nonce occupied", { ...context, afterMs: HELD_MS });
  await breaker.open(head.wait?.sentence ?? "");
  await releaseToOthers(held, "jammed", context);
}
