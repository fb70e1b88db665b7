import { MAX_BATCH_CALLS } from "../chain/rpc/rpc.js";
import { LANE_WAITS, type LaneWait } from "../model/submission/waitCauses.js";
import { CustodyError, WrongSignatureError } from "../signing/custodyCalls.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { Lease } from "../store/lanes/lease.js";
import type { InFlightSubmission } from "../store/lanes/queue/unfinished.js";
import { retireDrained } from "../store/lanes/setLaneState.js";
import { type LaneContext, stopLane } from "./context.js";
import { type FillContext, fillHead } from "./send/broadcaster.js";
import { acceptOffered } from "./sign/acceptOffered.js";
import { type Assigned, assign } from "./sign/assign.js";

/**
 * The most submissions of one step. The chain's nonces of their senders and of the waiver are two requests to the node.
 */
const MAX_SUBMISSIONS_PER_STEP = 2 * (MAX_BATCH_CALLS - 1);
/** The most submissions whose pause is over that one step reads: few, because others wait for the step. */
const MAX_DUE_PER_STEP = 64;
/** The time between two steps that read submissions whose pause is over, in ms. */
const DUE_MS = 100;
/** The time that a lane rests after a step unless it is woken, in ms. */
export const IDLE_MS = 250;

/**
 * One step of a lane, as a function of an explicit state. The loop in `lane.ts` only drives it.
 *
 * The step asks these questions in this order, until one lets the lane rest:
 *
 * - Is the lane `stopped` in the store? It touches nothing and rests.
 * - `mustResend`: may a signed wrapper not have reached a node? That is so after a start, after a takeover (the other owner
 *   may have signed), and after any failure. The same bytes of everything that is signed go out again. Until a node has
 *   these bytes, or answers that it does not take them, nothing new is signed.
 * - Do the policies permit the waiver nothing? The lane rests, and the directory sends its work to other lanes.
 * - Is the breaker open? The lane rests. While it probes, the step takes one submission.
 * - Do blocks leave out the head of the line (`send/head.ts`)? Nothing goes out behind the head. If the head was withdrawn, the step
 *   gives its nonce to another submission, and sends that wrapper to each node.
 * - Was something offered to the lane, and does the lane know its queue as empty (`laneOffers.ts`)? The step accepts and
 *   signs it in one write, and begins to broadcast it.
 * - Otherwise the step assigns waiver nonces to what is queued, has the wrappers signed, and stores nonce and bytes in one
 *   write, while the batch of the step before is on the wire. Then it waits for that batch and begins to broadcast its own;
 *   a step that has signed nothing does not wait. With a slow custody, a step stores the wrappers that are signed so far,
 *   and the next step asks again for the rest.
 * - A step that finds nothing in a `draining` lane retires it.
 *
 * Nonces and signed bytes are in the store before they are sent. So a step may fail at any point: the next one resends.
 */
export interface StepState {
  /** The lease's epoch in which the last step ran; undefined before the first. */
  readonly epoch: bigint | undefined;
  /** A signed wrapper may not have reached a node. Resend before anything new is signed. */
  readonly mustResend: boolean;
  /** The time of the last step that read submissions whose pause was over, in ms of a monotonic clock. */
  readonly dueAt: number;
  /** The broadcast of the batch that was signed last. Rejects if a wrapper of it may not have reached a node. */
  readonly broadcasting: Promise<void>;
}

/** The state of a lane that has just started. */
export function initialState(): StepState {
  return {
    epoch: undefined,
    mustResend: true,
    dueAt: Number.NEGATIVE_INFINITY,
    broadcasting: Promise.resolve(),
  };
}

/** The state with the lease as it is now; undefined if another replica holds the lane. */
export function withLease(state: StepState, lease: Lease | undefined): StepState {
  const epoch = lease?.lane.epoch;
  return epoch === state.epoch ? state : { ...state, epoch, mustResend: true };
}

/** The state after a step, or the broadcast of one, has failed at some point. */
export function afterFailure(state: StepState): StepState {
  return { ...state, mustResend: true, broadcasting: Promise.resolve() };
}

export interface StepResult {
  readonly state: StepState;
  /** The time to rest unless there is work; 0 if the next step has something to do at once. */
  readonly restMs: number;
  /** The lane's wait; undefined if it goes on. */
  readonly wait?: LaneWait | undefined;
  /** The lane has nothing to do until something wakes it. */
  readonly isEmpty: boolean;
  /** Wrappers are in flight, which blocks are to show. */
  readonly hasInFlight: boolean;
}

export interface StepContext extends FillContext {
  /** Ends the lane's rest. */
  readonly wake: () => void;
}

const FULL: LaneWait = { cause: "room", sentence: LANE_WAITS.room };

/** Takes one step. Rejects if it fails; continue with {@link afterFailure}. */
export async function step(state: StepState, lease: Lease, context: StepContext): Promise<StepResult> {
  const { routing, account, breaker } = context;
  const rest = { restMs: IDLE_MS, hasInFlight: false };
  if (lease.state === "stopped") return { state, ...rest, isEmpty: true };
  const { headOfLine: head } = context;
  // A line behind a nonce that stands still must not say `success`.
  const { isBraked } = head;
  if (state.mustResend)
    await context.broadcaster.resendSigned(lease.lane, isBraked ? head.still?.nonce : undefined);
  const reason = routing.whyUnusable(account.address);
  const resent = state.mustResend ? { ...state, mustResend: isBraked } : state;
  const waiting = { state: resent, ...rest, isEmpty: false, wait: head.wait };
  if (reason !== undefined) return { ...waiting, wait: { cause: "policy", sentence: reason } };
  if (breaker.state === "open") return waiting;
  if (isBraked) {
    context.laneOffers.setReady(false);
    await fillHead(lease.lane, context);
    return { ...waiting, hasInFlight: true };
  }
  return await assignAndBroadcast(resent, lease, context);
}

/** A custody that does not sign opens the lane's breaker. One that signs with another key stops the lane (D33). */
async function assignNext(held: HeldLane, isDue: boolean, context: StepContext): Promise<Assigned> {
  const { breaker } = context;
  const most = Math.min(MAX_SUBMISSIONS_PER_STEP, context.laneSigner.window);
  const limit = breaker.state === "probing" ? 1 : most;
  try {
    const due = isDue ? Math.min(limit, MAX_DUE_PER_STEP) : 0;
    return await assign(held, { limit, due }, context);
  } catch (error) {
    if (error instanceof WrongSignatureError)
      await stopLane(
        held,
        `${error.message}; correct the custody, and open the lane then`,
        ": its custody signs with another key",
        context,
      );
    else if (error instanceof CustodyError) await breaker.open(error.message);
    throw error;
  }
}

async function assignAndBroadcast(
  state: StepState,
  { lane: held, state: laneState }: Lease,
  context: StepContext,
): Promise<StepResult> {
  const { breaker } = context;
  const mayTakeOffers = () => laneState === "open" && breaker.state === "closed";
  const hasOffers = () => mayTakeOffers() && !context.laneOffers.isEmpty;
  // A lane that knows its queue as empty has nothing in it whose pause could be over.
  const offered = mayTakeOffers() ? await acceptOffered(held, context) : undefined;
  if (offered) {
    await state.broadcasting;
    const broadcasting = beginBroadcast(held, offered, context);
    const restMs = hasOffers() ? 0 : IDLE_MS;
    return { state: { ...state, broadcasting }, restMs, isEmpty: false, hasInFlight: true };
  }
  const now = performance.now();
  const isDue = now - state.dueAt >= DUE_MS;
  const { signed, stepAgain, moreDue, ...work } = await assignNext(held, isDue, context);
  // Where nothing is to be sent, what comes meanwhile does not wait for the batch on the wire.
  await (signed.length > 0 ? state.broadcasting : unlessPending(state.broadcasting));
  const broadcasting = signed.length > 0 ? beginBroadcast(held, signed, context) : state.broadcasting;
  if (breaker.state !== "closed") await broadcasting;
  if (work.isEmpty && laneState === "draining") await retireIfDone(held, context);
  const idleMs = moreDue ? DUE_MS : IDLE_MS;
  const dueAt = isDue ? now : state.dueAt;
  return {
    state: { ...state, dueAt, broadcasting },
    restMs: hasOffers() || stepAgain ? 0 : idleMs,
    isEmpty: work.isEmpty && laneState === "open",
    hasInFlight: work.hasInFlight,
    wait: work.isFull ? FULL : undefined,
  };
}

/** Rejects if the promise has rejected already. */
async function unlessPending(promise: Promise<void>): Promise<void> {
  await Promise.race([promise, undefined]);
}

/** Begins to broadcast. The next step, or the rest, begins at once. A failure ends the rest, and the next step rejects with it. */
function beginBroadcast(
  held: HeldLane,
  signed: readonly InFlightSubmission[],
  { broadcaster, wake }: StepContext,
): Promise<void> {
  const broadcasting = broadcaster.send(held, signed);
  broadcasting.catch(() => wake());
  return broadcasting;
}

/** Retires a draining lane in which nothing is left, and to which no reorg can bring anything back. */
async function retireIfDone(held: HeldLane, { store, log, options, routing }: LaneContext): Promise<void> {
  // This replica may take the lane for open for half a second after it was drained.
  await routing.refresh();
  if (await retireDrained(store, held, options.reorgDepth > 0)) log.info("the lane is drained and retired");
}
