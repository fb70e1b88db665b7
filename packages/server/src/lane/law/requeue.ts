import { decodeTransaction } from "@gas-waiver/protocol";
import type { ChangedSubmission, HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import { type RequeueOptions, saveRequeued } from "../../store/transitions/saveRequeued.js";
import type { WatchContext } from "../context.js";
import { decide, type Misplacement } from "./law.js";

type RequeueContext = Pick<WatchContext, "store" | "onNoncesFreed">;

/** The pause of a submission that cannot go on yet, in ms: what is missing comes meanwhile, or the chain tells who has used its nonce. */
export const NEXT_TRY_MS = 250;
/** Nothing is wrong with these submissions: they go on under another nonce, or in another lane. */
const AT_ONCE: ReadonlySet<Misplacement> = new Set(["nonces unfilled", "stranded"]);

/**
 * Queues again submissions that cannot land or run where they stand (L10).
 * @returns those that were queued.
 */
export async function requeueMisplaced(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "state" | "wrapperHash">[],
  misplaced: Misplacement,
  context: RequeueContext,
): Promise<ChangedSubmission[]> {
  const concerned = submissions.filter(
    ({ state }) => decide({ state, openWrappers: 0, misplaced }).move === "requeue",
  );
  const isStruck = misplaced === "passed over";
  const afterMs = AT_ONCE.has(misplaced) ? 0 : NEXT_TRY_MS;
  return await requeue(held, concerned, { afterMs, isOpen: true, isStruck }, context);
}

/**
 * Queues again what the law has decided. A submission with another wrapper by now stays as it is: evidence about one wrapper is
 * none about the next.
 * @returns those that were queued.
 */
export async function requeue(
  held: HeldLane,
  submissions: readonly Pick<InFlightSubmission, "id" | "wrapperHash">[],
  options: Omit<RequeueOptions, "wrapperHashes">,
  { store, onNoncesFreed }: RequeueContext,
): Promise<ChangedSubmission[]> {
  const ids = submissions.map(({ id }) => id);
  const wrapperHashes = submissions.map(({ wrapperHash }) => wrapperHash);
  const requeued = await saveRequeued(store, held, ids, { ...options, wrapperHashes });
  if (requeued.length > 0) onNoncesFreed?.();
  return requeued;
}

/**
 * Queues again what is in flight in a lane whose line does not move (L10), as far as another lane may carry it. The lane directory
 * moves it there. The InnerTx's own nonce lets it run once, however many wrappers carry it.
 */
export async function releaseToOthers(
  held: HeldLane,
  context: Pick<WatchContext, "store" | "routing" | "log" | "options" | "onNoncesFreed">,
): Promise<void> {
  const { store, routing, log, options } = context;
  const inFlight = await findInFlight(store, held, { limit: options.maxInFlight });
  const released = await requeueMisplaced(
    held,
    inFlight.filter(({ wrapperRaw }) =>
      routing.hasOtherCarrier(held.waiver, decodeTransaction(wrapperRaw).data),
    ),
    "stranded",
    context,
  );
  const ids = released.map(({ id }) => id);
  if (ids.length > 0) log.warn({ ids }, "the lane's line does not move; other lanes carry its submissions");
}
