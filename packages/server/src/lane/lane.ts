import { bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import { LeaseLostError } from "../store/lanes/heldLane.js";
import type { LaneStatus } from "../store/lanes/laneStatus.js";
import type { Schedule } from "../util/schedule.js";
import { createWakeableTimer, type WakeableTimer } from "../util/wakeableTimer.js";
import { createLaneBreaker } from "./choose/laneBreaker.js";
import { type LaneContext, type LaneDependencies, logFailure } from "./context.js";
import { createLaneMemory } from "./inbox/laneMemory.js";
import { LaneOffers } from "./inbox/laneOffers.js";
import type { LaneLease, LeaseKeeper } from "./own/lease.js";
import { createBroadcaster } from "./send/broadcaster.js";
import { createLaneParties } from "./sign/plan.js";
import { afterFailure, IDLE_MS, initialState, type StepContext, step, withLease } from "./step.js";
import { createLaneWaits, waitAfter } from "./watch/laneWaits.js";
import { createWatchMemory, LaneWatch } from "./watch/watch.js";

/** The lane of one waiver. Nothing else assigns the waiver's nonces. */
export type Lane = ReturnType<typeof startLane>;

const MAX_BACKOFF_MS = 1_000;
/** A lane without work goes on taking steps for this long. The store is polled for paused work several times meanwhile. */
const LINGER_MS = 1_500;
/** The longest rest of a lane that has had no work for a while. The poll of the store (`directory.ts`) wakes it earlier. */
const LONG_REST_MS = 3_600_000;

/** The parts that the lanes of this replica share. */
export interface StartLaneDependencies extends LaneDependencies {
  readonly leases: LeaseKeeper;
  readonly schedule: Schedule;
  /** Called when the lane begins to follow blocks. */
  readonly onFollowing: () => void;
}

/**
 * Starts the lane of a waiver. While this replica holds its lease, two loops run: one takes the steps that sign and
 * broadcast (see `step.ts`), and the watcher reconciles what blocks contain. Each transition is guarded by the expected
 * state, so neither loop can undo a write of the other. Both rest while the lane has no work.
 */
export function startLane(account: WaiverAccount, dependencies: StartLaneDependencies) {
  const { address: waiver } = account;
  const { stepTimer, wake, ...inbox } = createInbox();
  const lease = dependencies.leases.keep(waiver, () => {
    wake();
    watch.follow();
  });
  const recheck = () => {
    lease.recheck();
    wake();
  };
  const context = contextOf(account, { ...inbox, onLaneStopped: recheck }, dependencies);
  const breaker = createLaneBreaker(waiver, { ...context, lease });
  const broadcaster = createBroadcaster({ ...context, breaker });
  const { onFollowing, schedule } = dependencies;
  const watch = new LaneWatch(lease, broadcaster, { ...context, onFollowing, schedule, mode: "signs" });
  const stopping = new AbortController();
  const handover: Handover = { to: undefined };
  const stepContext = { ...context, breaker, broadcaster, wake };
  const parts = { lease, handover, watch, timer: stepTimer };
  const steps = runSteps(stepContext, parts, stopping.signal);
  return {
    account,
    /** 20 bytes. */
    waiver,
    /** Whether the lane has something in flight, or in a block that is not final. */
    get isFollowing() {
      return watch.isFollowing;
    },
    /** The lease that this replica has; undefined if another one has it. */
    lease: lease.current,
    /** Looks for work in the store at once. */
    wake,
    offer: (newSubmissions: readonly NewSubmission[]) => inbox.laneOffers.offer(newSubmissions),
    onNewBlock: watch.onNewBlock,
    onNextNonce: watch.onNextNonce,
    /** Stores all broadcasts that only this process knows. Never rejects. */
    flush: () => context.broadcastBuffer.flush(),
    /** Takes note of the lane's status in the store. A lane that rests although it has work wakes up. */
    onStatus(status: LaneStatus) {
      watch.onStatus(status);
      const held = lease.current();
      if (held && held.state !== status.state) recheck();
      else if (status.queued + status.inFlight > 0) stepTimer.wake();
    },
    /** Finishes the step in progress, and gives the lease, if held, to another replica. */
    handOver(to: string) {
      handover.to = to;
      wake();
    },
    /** Takes nothing new, finishes the step in progress, and releases the lease. */
    async stop() {
      stopping.abort();
      stepTimer.end();
      await Promise.all([steps, watch.close()]);
      await context.broadcastBuffer.close();
      await lease.release();
    },
  };
}

/** The timer of the lane's rests, and what comes in. Only an offer ends a rest without the store being read. */
function createInbox() {
  const stepTimer = createWakeableTimer();
  const laneMemory = createLaneMemory();
  const wake = () => {
    laneMemory.forget();
    stepTimer.wake();
  };
  return { stepTimer, wake, laneMemory, laneOffers: new LaneOffers(stepTimer.wake, laneMemory.hasInFlight) };
}

function contextOf(
  account: WaiverAccount,
  own: Pick<LaneContext, "laneMemory" | "laneOffers" | "onLaneStopped">,
  dependencies: StartLaneDependencies,
): LaneContext {
  const log = dependencies.log.child({ waiver: bytesToHex(account.address) });
  const memory = { ...own, parties: createLaneParties(), ...createWatchMemory(dependencies) };
  const laneSigner = dependencies.signer.of(account);
  return { ...dependencies, ...memory, onNoncesFreed: own.laneMemory.forget, laneSigner, log, account };
}

/** The replica that is to get the lane after the present step. */
interface Handover {
  to: string | undefined;
}

/** Gives the lane to another replica if that is wanted, once the last batch has been sent. */
async function carryOut(
  handover: Handover,
  lease: LaneLease,
  broadcasting: Promise<void>,
  { broadcastBuffer }: LaneContext,
): Promise<void> {
  const { to } = handover;
  handover.to = undefined;
  if (to === undefined || lease.current() === undefined) return;
  // The next owner sends again what this one could not.
  await broadcasting.catch(() => {});
  await broadcastBuffer.flush();
  await lease.handOver(to);
}

interface StepParts {
  readonly lease: LaneLease;
  readonly handover: Handover;
  readonly watch: LaneWatch;
  readonly timer: WakeableTimer;
}

/** Takes steps until the lane stops, with growing rests while they fail, and a long one while there is no work. */
async function runSteps(
  context: StepContext,
  { lease, handover, watch, timer }: StepParts,
  stopping: AbortSignal,
): Promise<void> {
  const waits = createLaneWaits(context);
  const { onOtherServer } = context.store;
  let state = initialState();
  let failures = 0;
  // The other server may lack the last commits, so that what is known to be broadcast is signed again there.
  let hasMoved = false;
  const onMoved = () => {
    hasMoved = true;
    context.wake();
  };
  onOtherServer.add(onMoved);
  let lastWorkAt = performance.now();
  while (!stopping.aborted) {
    // Whatever came before is for this step. Otherwise a step that follows at once, and has taken it, is followed by a look at nothing.
    timer.clear();
    let restMs = IDLE_MS;
    let isEmpty = true;
    try {
      await carryOut(handover, lease, state.broadcasting, context);
      if (hasMoved) {
        hasMoved = false;
        await state.broadcasting;
        state = afterFailure(state);
      }
      const held = await lease.acquire();
      if (held?.lane.epoch !== state.epoch) context.headOfLine.forget();
      state = withLease(state, held);
      if (held) {
        const taken = await step(state, held, context);
        ({ state, restMs, isEmpty } = taken);
        if (taken.hasInFlight || context.nonceProofs.isSearching) watch.follow();
        await waits.note(held.lane, watch.waitBeside(taken.wait));
      }
      failures = 0;
    } catch (error) {
      state = afterFailure(state);
      failures++;
      isEmpty = false;
      restMs = Math.min(MAX_BACKOFF_MS, 25 * 2 ** failures);
      if (error instanceof LeaseLostError) lease.forget();
      logFailure(context.log, error, "lane");
      const held = lease.current();
      const wait = waitAfter(error);
      if (held && wait)
        await waits.note(held.lane, wait).catch((cause) => logFailure(context.log, cause, "lane"));
    }
    if (!isEmpty) lastWorkAt = performance.now();
    const rest = performance.now() - lastWorkAt < LINGER_MS ? restMs : LONG_REST_MS;
    if (rest > 0) await timer.rest(rest, failures === 0);
  }
  onOtherServer.delete(onMoved);
  await state.broadcasting.catch(() => {});
}
