import { bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import { createNonceProofs } from "../chain/nonceProof.js";
import { LeaseLostError } from "../store/lanes/heldLane.js";
import { createWakeableTimer, type WakeableTimer } from "../util/wakeableTimer.js";
import { createBroadcaster } from "./broadcaster.js";
import { createConfirmations } from "./confirmations.js";
import type { LaneContext, LaneDependencies } from "./context.js";
import { createLaneBreaker } from "./laneBreaker.js";
import { createLaneParties } from "./laneParties.js";
import { keepLease, type LaneLease, logFailure } from "./lease.js";
import { createLostBlocksCheck } from "./lostBlocks.js";
import { createLostWrapperSearch } from "./searchLost.js";
import { afterFailure, IDLE_MS, initialState, type StepContext, step, withLease } from "./step.js";
import { sweep } from "./sweep.js";
import { createWatcher, type Watcher } from "./watch.js";

/** The lane of one waiver. Nothing else assigns the waiver's nonces. */
export interface Lane {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** Looks for work at once. */
  wake(): void;
  /** Looks at the chain at once. */
  onNewBlock(): void;
  /** Finishes the step in progress, and gives the lease to another replica if this one has it. */
  handOver(to: string): void;
  /** Takes nothing new, finishes the step in progress, and releases the lease. */
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 1_000;

/**
 * Starts the lane of a waiver. While this replica holds its lease, two loops run: one takes the steps that sign and
 * broadcast (see `step.ts`), and the watcher reconciles what blocks contain. Both write through transitions that are
 * guarded by the expected state, so neither can undo what the other did.
 */
export function startLane(account: WaiverAccount, dependencies: LaneDependencies): Lane {
  const { address: waiver } = account;
  const { store, options, chainRef, replica } = dependencies;
  const log = dependencies.log.child({ waiver: bytesToHex(waiver) });
  const lease = keepLease({ chain: chainRef, waiver, owner: replica }, { store, options, log });
  const stepTimer = createWakeableTimer();
  const watchTimer = createWakeableTimer();
  const onLaneStopped = () => {
    lease.recheck();
    stepTimer.wake();
  };
  const confirmations = createConfirmations();
  const nonceProofs = createNonceProofs({ chain: dependencies.chain, reorgDepth: options.reorgDepth });
  const context: LaneContext = { ...dependencies, log, account, confirmations, nonceProofs, onLaneStopped };
  const breaker = createLaneBreaker(waiver, { ...context, lease });
  const broadcaster = createBroadcaster(context, breaker);
  const watcher = createWatcher(context, broadcaster);
  const stopping = new AbortController();
  const handover = createHandover(lease, context);
  const parties = createLaneParties();
  const stepContext = { ...context, breaker, broadcaster, parties, wake: stepTimer.wake };
  const loops = Promise.all([
    runSteps(stepContext, lease, handover, stepTimer, stopping.signal),
    runWatcher(watcher, context, lease, watchTimer, stopping.signal),
  ]);
  return {
    waiver,
    wake: stepTimer.wake,
    onNewBlock: watchTimer.wake,
    handOver(to) {
      handover.request(to);
      stepTimer.wake();
    },
    async stop() {
      stopping.abort();
      stepTimer.end();
      watchTimer.end();
      await loops;
      await dependencies.broadcastBuffer.flush();
      await lease.release();
    },
  };
}

/** Gives the lane to another replica between two steps. */
interface Handover {
  request(to: string): void;
  /** Carries out the request, if there is one, once the last batch has been sent. */
  carryOut(broadcasting: Promise<void>): Promise<void>;
}

function createHandover(lease: LaneLease, { broadcastBuffer }: LaneContext): Handover {
  let successor: string | undefined;
  return {
    request(to) {
      successor = to;
    },
    async carryOut(broadcasting) {
      const to = successor;
      successor = undefined;
      if (to === undefined || lease.current() === undefined) return;
      // The next owner sends again what this one could not.
      await broadcasting.catch(() => {});
      await broadcastBuffer.flush();
      await lease.handOver(to);
    },
  };
}

/** Takes steps until the lane stops, with growing rests while they fail. */
async function runSteps(
  context: StepContext,
  lease: LaneLease,
  handover: Handover,
  timer: WakeableTimer,
  stopping: AbortSignal,
): Promise<void> {
  let state = initialState();
  let failures = 0;
  while (!stopping.aborted) {
    let restMs = IDLE_MS;
    try {
      await handover.carryOut(state.broadcasting);
      const held = await lease.acquire();
      state = withLease(state, held);
      if (held) ({ state, restMs } = await step(state, held, context));
      failures = 0;
    } catch (error) {
      state = afterFailure(state);
      failures++;
      restMs = Math.min(MAX_BACKOFF_MS, 25 * 2 ** failures);
      if (error instanceof LeaseLostError) lease.forget();
      logFailure(context.log, error, "lane");
    }
    if (restMs > 0) await timer.rest(restMs, failures === 0);
  }
  await state.broadcasting.catch(() => {});
}

/** Polls the chain until the lane stops, and sweeps the store now and then. */
async function runWatcher(
  watcher: Watcher,
  context: LaneContext,
  lease: LaneLease,
  timer: WakeableTimer,
  stopping: AbortSignal,
): Promise<void> {
  const { options, log } = context;
  const lostBlocks = createLostBlocksCheck(context);
  const lostWrappers = createLostWrapperSearch(context);
  let sweptAt = Number.NEGATIVE_INFINITY;
  while (!stopping.aborted) {
    const held = lease.current();
    try {
      const isSweepDue = performance.now() - sweptAt >= options.sweepIntervalMs;
      if (held && isSweepDue) {
        await sweep(held.lane, context);
        sweptAt = performance.now();
      }
      if (held && held.state !== "stopped") await lostBlocks.run(held.lane);
      if (held) await lostWrappers.search(held.lane);
      if (held) await watcher.poll(held.lane, held.state === "stopped" ? "silent" : "signs");
    } catch (error) {
      if (error instanceof LeaseLostError) lease.forget();
      logFailure(log, error, "watcher");
    }
    await timer.rest(options.pollIntervalMs, true);
  }
}
