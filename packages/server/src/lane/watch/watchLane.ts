import { INTERVALS_WHEN_IDLE } from "../../chain/heads/blockWatch.js";
import { patienceClock } from "../../model/patience.js";
import type { LaneWait } from "../../model/submission/waitCauses.js";
import { LeaseLostError } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Lease } from "../../store/lanes/lease.js";
import type { WatchContext } from "../context.js";
import { logFailure } from "../logFailure.js";
import type { LaneLease } from "../own/lease.js";
import { createLostBlocksCheck } from "./lostBlocks.js";
import type { Look, LookBudget, Schedule } from "./schedule.js";
import { createLostWrapperSearch } from "./searchLost.js";
import { createSweep } from "./sweep.js";
import type { Watcher } from "./watch.js";

export interface LaneWatchContext extends WatchContext {
  readonly schedule: Schedule;
  /** Called when the lane begins to follow the chain. */
  readonly onFollowing: () => void;
}

type WatchedLease = Pick<LaneLease, "current" | "forget">;

/** Follows the chain for a lane that this replica signs for. Each of its looks rests while it has nothing to look at. */
export class LaneWatch {
  readonly #watcher: Watcher;
  readonly #lease: WatchedLease;
  readonly #context: LaneWatchContext;
  readonly #lostBlocks: ReturnType<typeof createLostBlocksCheck>;
  readonly #blocks: Look;
  readonly #doubts: Look;
  readonly #sweeps: Look;
  readonly #losses: Look;
  readonly #searches: Look;
  /** The lane has something in flight, or in a block that is not final. */
  isFollowing = false;
  /** Something may have been sent since the last look at blocks began. */
  #mustFollow = false;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(watcher: Watcher, lease: WatchedLease, context: LaneWatchContext) {
    this.#watcher = watcher;
    this.#lease = lease;
    this.#context = context;
    this.#lostBlocks = createLostBlocksCheck(context, patienceClock(context.patience));
    const lostWrappers = createLostWrapperSearch(context);
    const sweep = createSweep(context);
    this.#blocks = this.#look((held) => this.#followBlocks(held));
    // Doubts take turns with each other and delay nothing else.
    const budget = context.schedule.createBudget();
    this.#doubts = this.#look(({ lane }) => watcher.doubts.look(lane), budget);
    this.#sweeps = this.#look(async ({ lane }) => {
      const hasMore = await sweep.next(lane);
      this.#doubts.start();
      return hasMore ? 0 : undefined;
    }, budget);
    this.#losses = this.#look(async ({ lane, state }) => {
      if (state !== "stopped") await this.#lostBlocks.run(lane);
      return undefined;
    }, budget);
    this.#searches = this.#look(async ({ lane }) => {
      const againMs = await lostWrappers.search(lane);
      this.#doubts.start();
      return againMs;
    }, budget);
  }

  /** Undefined unless the lane waits for nodes that lag. */
  get wait(): LaneWait | undefined {
    return this.#lostBlocks.wait;
  }

  /** Begins to follow the chain, because the lane may have sent something. */
  follow = (): void => {
    this.#mustFollow = true;
    if (this.isFollowing) return;
    this.isFollowing = true;
    this.#context.onFollowing();
    this.#blocks.wake();
  };

  /** Compares the lane with the chain at once if it follows it. */
  onNewBlock = (): void => {
    if (this.isFollowing) this.#blocks.wake();
  };

  /** Sweeps the lane if that is due and there is something to sweep, and follows what the lane has sent. */
  onStatus = ({ queued, inFlight, hasUnfinalized, hasWithdrawn, hasOpenWrapper }: LaneStatus): void => {
    if (this.#lease.current() === undefined) return;
    if (inFlight > 0 || hasUnfinalized) this.follow();
    if (hasOpenWrapper) this.#doubts.start();
    if (performance.now() - this.#sweptAt < this.#context.options.sweepIntervalMs) return;
    // An empty lane needs no sweep before the next one is due.
    this.#sweptAt = performance.now();
    if (queued + inFlight > 0 || hasWithdrawn) this.#sweeps.wake();
  };

  /** Takes note of the comparison of the lane's final blocks with the chain. */
  onFinality = (finality: "kept" | "doubted"): void => {
    if (finality === "kept") this.#lostBlocks.keep();
    else this.#losses.wake();
  };

  /** Searches the chain for wrappers that the store has lost. */
  searchLostWrappers = (): void => this.#searches.start();

  async close(): Promise<void> {
    const looks = [this.#blocks, this.#doubts, this.#sweeps, this.#losses, this.#searches];
    await Promise.all(looks.map((look) => look.end()));
  }

  async #followBlocks({ lane, state }: Lease): Promise<number | undefined> {
    this.#mustFollow = false;
    const { isFollowing, hasNewDoubts } = await this.#watcher.poll(
      lane,
      state === "stopped" ? "silent" : "signs",
    );
    if (hasNewDoubts) this.#doubts.wake();
    else this.#doubts.start();
    this.isFollowing = isFollowing || this.#mustFollow;
    return this.isFollowing ? this.#idleMs : undefined;
  }

  /** Adds a look that needs the lane's lease. Without it, the look rests; after a failure, it comes again. */
  #look(lookAt: (lease: Lease) => Promise<number | undefined>, budget?: LookBudget): Look {
    const lookAgain = async () => {
      const held = this.#lease.current();
      if (held === undefined) {
        this.isFollowing = false;
        return undefined;
      }
      try {
        return await lookAt(held);
      } catch (error) {
        if (error instanceof LeaseLostError) this.#lease.forget();
        logFailure(this.#context.log, error, "watcher");
        return this.#idleMs;
      }
    };
    return this.#context.schedule.look(lookAgain, budget && { budget });
  }

  get #idleMs(): number {
    return INTERVALS_WHEN_IDLE * this.#context.options.pollIntervalMs;
  }
}
