import { INTERVALS_WHEN_IDLE } from "../../chain/heads/blockWatch.js";
import { patienceClock } from "../../model/patience.js";
import { LeaseLostError } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Lease } from "../../store/lanes/lease.js";
import { createWakeableTimer } from "../../util/wakeableTimer.js";
import { LONG_REST_MS, type WatchContext } from "../context.js";
import { logFailure } from "../logFailure.js";
import type { LaneLease } from "../own/lease.js";
import { createLostBlocksCheck } from "./lostBlocks.js";
import { createLostWrapperSearch } from "./searchLost.js";
import { sweep } from "./sweep.js";
import type { Watcher } from "./watch.js";

export interface LaneWatchContext extends WatchContext {
  /** Called when the lane begins to follow the chain. */
  readonly onFollowing: () => void;
}

type WatchedLease = Pick<LaneLease, "current" | "forget">;

/**
 * Follows the chain for a lane that this replica signs for. It rests while the lane has nothing in flight and nothing in a
 * block that is not final, unless it is called.
 */
export class LaneWatch {
  readonly #watcher: Watcher;
  readonly #lease: WatchedLease;
  readonly #context: LaneWatchContext;
  readonly #timer = createWakeableTimer();
  readonly #lostBlocks: ReturnType<typeof createLostBlocksCheck>;
  readonly #lostWrappers: ReturnType<typeof createLostWrapperSearch>;
  readonly #running: Promise<void>;
  /** The lane has something in flight, or in a block that is not final. */
  isFollowing = false;
  #isClosed = false;
  #isDoubted = false;
  #mustSearch = false;
  #mustSweep = false;
  /** Something may have been sent since the last poll began. */
  #mustPoll = false;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(watcher: Watcher, lease: WatchedLease, context: LaneWatchContext) {
    this.#watcher = watcher;
    this.#lease = lease;
    this.#context = context;
    this.#lostBlocks = createLostBlocksCheck(context, patienceClock(context.patience));
    this.#lostWrappers = createLostWrapperSearch(context);
    this.#running = this.#run();
  }

  /** Begins to follow the chain, because the lane may have sent something. */
  follow = (): void => {
    this.#mustPoll = true;
    if (this.isFollowing) return;
    this.isFollowing = true;
    this.#context.onFollowing();
    this.#timer.wake();
  };

  /** Compares the lane with the chain at once if it follows it. */
  onNewBlock = (): void => {
    if (this.isFollowing) this.#timer.wake();
  };

  /** Sweeps the lane if that is due and there is something to sweep, and follows what the lane has sent. */
  onStatus = ({ queued, inFlight, hasUnfinalized, hasWithdrawn, hasOpenWrapper }: LaneStatus): void => {
    if (this.#lease.current() === undefined) return;
    if (inFlight > 0 || hasUnfinalized || hasOpenWrapper) this.follow();
    if (performance.now() - this.#sweptAt < this.#context.options.sweepIntervalMs) return;
    // An empty lane needs no sweep before the next one is due.
    this.#sweptAt = performance.now();
    this.#mustSweep = queued + inFlight > 0 || hasWithdrawn;
    if (this.#mustSweep) this.#timer.wake();
  };

  /** Takes note of the comparison of the lane's final blocks with the chain. */
  onFinality = (finality: "kept" | "doubted"): void => {
    if (finality === "kept") this.#lostBlocks.keep();
    this.#isDoubted = finality === "doubted";
    if (this.#isDoubted) this.#timer.wake();
  };

  /** Searches the chain for wrappers that the store has lost. */
  searchLostWrappers = (): void => {
    this.#mustSearch = true;
    this.#timer.wake();
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.end();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { options, log } = this.#context;
    while (!this.#isClosed) {
      const held = this.#lease.current();
      try {
        if (held) await this.#visit(held);
        else this.isFollowing = false;
      } catch (error) {
        if (error instanceof LeaseLostError) this.#lease.forget();
        this.isFollowing = true;
        logFailure(log, error, "watcher");
      }
      const restMs = this.isFollowing ? INTERVALS_WHEN_IDLE * options.pollIntervalMs : LONG_REST_MS;
      if (!this.#isClosed) await this.#timer.rest(restMs, true);
    }
  }

  async #visit({ lane, state }: Lease): Promise<void> {
    const isStopped = state === "stopped";
    if (this.#mustSweep) {
      await sweep(lane, this.#context);
      this.#mustSweep = false;
    }
    if (this.#isDoubted && !isStopped) {
      this.#isDoubted = false;
      await this.#lostBlocks.run(lane);
    }
    if (this.#mustSearch) {
      this.#mustSearch = false;
      await this.#lostWrappers.search(lane);
    }
    this.#mustPoll = false;
    const hasMore = await this.#watcher.poll(lane, isStopped ? "silent" : "signs");
    this.isFollowing = hasMore || this.#mustPoll;
  }
}
