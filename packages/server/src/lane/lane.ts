import { bytesToHex, privateKeyToAddress } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/nodeClient.js";
import { MAX_BATCH_CALLS } from "../chain/rpc.js";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import type { ResolvedOptions } from "../model/options.js";
import type { Results } from "../results/results.js";
import type { Signer } from "../signing/signer.js";
import { type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import type { Lease } from "../store/lanes/lease.js";
import { setBreaker } from "../store/lanes/setBreaker.js";
import { setLaneState } from "../store/lanes/setLaneState.js";
import { findUnfinalized } from "../store/lanes/unfinalized.js";
import { hasUnfinished } from "../store/lanes/unfinished.js";
import { findAssignedNonces } from "../store/lanes/waiverNonces.js";
import type { Store } from "../store/store.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";
import { assign } from "./assign.js";
import { createBreaker } from "./breaker.js";
import type { BroadcastBuffer } from "./broadcastBuffer.js";
import { createBroadcaster, type LaneBreaker } from "./broadcaster.js";
import type { ExpectedSenders } from "./expectedSenders.js";
import { keepLease, logFailure } from "./lease.js";
import { type Confirmations, createConfirmations } from "./reconcile.js";
import type { Routing } from "./routing.js";
import { sweep } from "./sweep.js";
import { createWatcher } from "./watch.js";

/** What a lane works with. */
export interface LaneDependencies {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly options: ResolvedOptions;
  readonly routing: Routing;
  readonly expectedSenders: Pick<ExpectedSenders, "take">;
  readonly signer: Pick<Signer, "sign">;
  readonly broadcastBuffer: BroadcastBuffer;
  /** The store's number of the chain. */
  readonly chainRef: number;
  /** Names this process among the replicas. */
  readonly replica: string;
}

/** The same, and what one lane remembers. */
export interface LaneContext extends LaneDependencies {
  readonly confirmations: Confirmations;
  /** The lane has stopped itself: it knows before its next step. */
  readonly onLaneStopped: () => void;
}

/** One waiver key's lane: the only place that gives out its nonces. */
export interface Lane {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** There may be work. */
  wake(): void;
  /** There is a new block. */
  onNewBlock(): void;
  /** Takes nothing new, finishes the step under way and hands the lease over. */
  stop(): Promise<void>;
}

/** Submissions in one step: the nonces of their senders and of the waiver are two requests to the node. */
const BATCH = 2 * (MAX_BATCH_CALLS - 1);
/** How long the lane rests without news. */
const IDLE_MS = 250;
const MAX_BACKOFF_MS = 1_000;
/** A lane that fails is left alone: after so many failures in a row, and for so long. */
const BREAKER = { failures: 5, openMs: 1_000, maxOpenMs: 30_000 };

/**
 * Starts the lane of a waiver key. Its life is one loop, while it holds the lease:
 *
 * 1. after the start, a takeover or a failure: send what is signed, the same bytes; nothing new before all of it
 *    is delivered;
 * 2. take what is queued, give it the lowest free nonces, sign, store: while the batch before is on the wire;
 * 3. send it, in nonce order, a hundred at a time.
 *
 * The watcher runs beside it and settles what blocks hold. Both write through guarded transitions, so neither can
 * undo what the other did.
 */
export function startLane(waiverKey: Uint8Array, given: LaneDependencies): Lane {
  const waiver = privateKeyToAddress(waiverKey);
  const log = given.log.child({ waiver: bytesToHex(waiver) });
  const onLaneStopped = () => {
    lease.recheck();
    pause.wake();
  };
  const dependencies: LaneContext = { ...given, log, confirmations: createConfirmations(), onLaneStopped };
  const { options, chainRef, replica } = dependencies;
  const breaker = createBreaker({ ...BREAKER, now: () => performance.now() });
  const shown = shownBreaker(breaker, waiver, dependencies);
  const delivery = createBroadcaster(dependencies, shown);
  const lease = keepLease({ chain: chainRef, waiver, owner: replica }, dependencies);
  const pause = createWakeableTimer();
  const watchPause = createWakeableTimer();
  let stopping = false;
  // Something may be signed that was not delivered: it goes first.
  let doubtful = true;
  // The policies have closed the lane; not its breaker's failures, which only a probe ends.
  let shut = false;
  // More was queued than the last step saw.
  let backlog = false;
  let sending: Promise<void> = Promise.resolve();

  /** One step; returns how long to rest. */
  const step = async ({ lane, state }: Lease): Promise<number> => {
    if (state === "stopped") return IDLE_MS;
    if (doubtful) {
      // What is known to be delivered need not be sent again.
      await dependencies.broadcastBuffer.flush();
      await delivery.resendSigned(lane);
      doubtful = false;
    }
    const why = dependencies.routing.whyUnusable(waiver);
    if (why !== undefined) {
      shut = true;
      if (breaker.state !== "open") await shown.fail("at once", why);
      return IDLE_MS;
    }
    if (shut) await shown.succeed();
    shut = false;
    if (breaker.state === "open") return IDLE_MS;
    const limit = breaker.state === "probing" ? 1 : BATCH;
    const { signed, stepAgain } = await assign(lane, waiverKey, { limit, backlog }, dependencies);
    backlog = stepAgain;
    await sending;
    sending = delivery.send(lane, signed);
    // The next step, or the rest, begins at once; a failure is seen when the step after waits for it.
    sending.catch(() => pause.wake());
    if (signed.length === 0 || breaker.state !== "closed") await sending;
    if (signed.length === 0 && state === "draining") await retireIfDone(lane, dependencies);
    return stepAgain ? 0 : IDLE_MS;
  };
  const work = async () => {
    let failures = 0;
    let epoch: bigint | undefined;
    while (!stopping) {
      let restMs = IDLE_MS;
      try {
        const held = await lease.acquire();
        // Somebody else may have had it since, and may have signed.
        if (held?.lane.epoch !== epoch) doubtful = true;
        epoch = held?.lane.epoch;
        if (held) restMs = await step(held);
        failures = 0;
      } catch (error) {
        doubtful = true;
        sending = Promise.resolve();
        failures++;
        restMs = Math.min(MAX_BACKOFF_MS, 25 * 2 ** failures);
        if (error instanceof LeaseLostError) lease.forget();
        logFailure(log, error, "lane");
      }
      if (restMs > 0) await pause.rest(restMs, failures === 0);
    }
    await sending.catch(() => {});
  };
  const watcher = createWatcher(dependencies, delivery);
  const watch = async () => {
    let sweptAt = Number.NEGATIVE_INFINITY;
    while (!stopping) {
      const held = lease.current();
      try {
        if (held && held.state !== "stopped") {
          if (performance.now() - sweptAt >= options.sweepIntervalMs) {
            await sweep(held.lane, dependencies);
            sweptAt = performance.now();
          }
          await watcher.poll(held.lane);
        }
      } catch (error) {
        if (error instanceof LeaseLostError) lease.forget();
        logFailure(log, error, "watcher");
      }
      await watchPause.rest(options.pollIntervalMs, true);
    }
  };
  const loops = Promise.all([work(), watch()]);
  return {
    waiver,
    wake: () => pause.wake(),
    onNewBlock: () => watchPause.wake(),
    async stop() {
      stopping = true;
      pause.end();
      watchPause.end();
      await loops;
      await dependencies.broadcastBuffer.flush();
      await lease.release();
    },
  };
}

/** The breaker, with its state where every replica sees it. */
function shownBreaker(
  breaker: ReturnType<typeof createBreaker>,
  waiver: Uint8Array,
  { store, log, chainRef }: LaneDependencies,
): LaneBreaker {
  return {
    async succeed() {
      if (!breaker.succeed()) return;
      await setBreaker(store, chainRef, waiver, 0, undefined);
      log.info("the lane's breaker is closed: its waiver is of use again");
    },
    async fail(severity, why) {
      const forMs = breaker.fail(severity);
      if (forMs === undefined) return;
      await setBreaker(store, chainRef, waiver, forMs, why);
      log.error({ why, forMs }, "the lane's breaker is open");
    },
  };
}

/** A draining lane that has nothing left, and nothing that a reorg may bring back, is over. */
async function retireIfDone(
  held: HeldLane,
  { store, log, chainRef, options }: LaneDependencies,
): Promise<void> {
  if (options.reorgDepth > 0 && (await findUnfinalized(store, held, 1)).length > 0) return;
  if (await hasUnfinished(store, held)) return;
  if ((await findAssignedNonces(store, held)).length > 0) return;
  await setLaneState(store, chainRef, held.waiver, "retired", "drained");
  log.info("the lane is drained and retired");
}
