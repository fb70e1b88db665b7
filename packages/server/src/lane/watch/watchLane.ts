import { INTERVALS_WHEN_IDLE } from "../../chain/heads/blockWatch.js";
import { createNonceProofs } from "../../chain/nonceProof.js";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { patienceClock } from "../../model/patience.js";
import type { LaneWait, LaneWaitCause } from "../../model/submission/waitCauses.js";
import type { Logger } from "../../model/telemetry/log.js";
import { LeaseLostError } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Lease } from "../../store/lanes/lease.js";
import { createTurns, type Look, type LookAgain, type Schedule } from "../../util/schedule.js";
import { type LaneDependencies, logFailure, type WatchContext } from "../context.js";
import { BroadcastBuffer } from "../law/broadcastBuffer.js";
import { Entries } from "../law/entries.js";
import { MOVE_CHECK_MS } from "../law/reconcile.js";
import { createStruckTurn } from "../law/strikes.js";
import type { LaneLease } from "../own/lease.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { HeadOfLine } from "../send/head.js";
import { createSweep, type Question } from "./doubts.js";
import { waitAfter } from "./laneWaits.js";
import { createLostBlocksCheck, createNonceAccount } from "./lost.js";
import { createWatcher, type Watcher, type WatchMode } from "./watch.js";

export interface LaneWatchContext extends WatchContext {
  readonly schedule: Schedule;
  /** The mode of a lane that is not stopped. */
  readonly mode: Exclude<WatchMode, "silent">;
  /** Called when the lane begins to follow the chain. */
  readonly onFollowing: () => void;
}

/** The waits that only blocks end: while no node shows any, the nodes are what the lane waits for. */
const FOR_BLOCKS: ReadonlySet<LaneWaitCause | undefined> = new Set(["head", "block", "room"]);

type WatchedLease = Pick<LaneLease, "current" | "forget">;

/** A lane is compared with the chain once in so many intervals, whether it has work or not. */
export const INTERVALS_PER_FINALITY = 15;

/** The things that a loop does, as far as they have failed and come again. */
export function createFailures(log: Logger, loop: string) {
  const failed = new Map<object, unknown>();
  const isUnanswered = (error: unknown) => error instanceof RpcUnavailableError;
  const areUnanswered = () => [...failed.values()].some(isUnanswered);
  return {
    /** Logs an error of one thing, but for all but the first of those that only say that no node answers. */
    note(thing: object, error: unknown): void {
      const isKnown = isUnanswered(error) && areUnanswered();
      failed.set(thing, error);
      if (!isKnown) logFailure(log, error, loop);
    },
    /** The thing has not failed. Logs when nothing fails any more because no node answers. */
    end(thing: object): void {
      const wasUnanswered = isUnanswered(failed.get(thing));
      failed.delete(thing);
      if (wasUnanswered && !areUnanswered()) log.info(`${loop}: nodes answer again`);
    },
    /** The thing is not done any more. */
    drop: (thing: object) => void failed.delete(thing),
    waits: (): LaneWait[] => [...failed.values()].flatMap((error) => waitAfter(error) ?? []),
  };
}

/** Creates a lane's memory of what the chain has shown of its wrappers. */
export function createWatchMemory(dependencies: LaneDependencies & { readonly schedule: Schedule }) {
  const { chain, patience, options } = dependencies;
  const { reorgDepth } = options;
  const now = patienceClock(patience);
  const entries = new Entries(now);
  return {
    entries,
    broadcastBuffer: new BroadcastBuffer({ ...dependencies, entries }),
    headOfLine: new HeadOfLine(),
    struckTurn: createStruckTurn(),
    nonceProofs: createNonceProofs({ chain, reorgDepth, now }),
  };
}

/**
 * Follows the chain for a lane whose lease this replica holds. What blocks show is looked at as soon as they come. All other
 * questions take turns, so that blocks wait for none of them. Each rests while it has nothing to ask.
 */
export class LaneWatch {
  readonly #watcher: Watcher;
  readonly #lease: WatchedLease;
  readonly #context: LaneWatchContext;
  readonly #failures: ReturnType<typeof createFailures>;
  readonly #lostBlocks: ReturnType<typeof createLostBlocksCheck>;
  readonly #turns: ReturnType<typeof createTurns>;
  readonly #blocks: Look;
  readonly #doubts: readonly Look[];
  readonly #sweeps: Look;
  readonly #accounts: Look;
  readonly #finality: Look;
  /** The lane has something in flight, or in a block that is not final. */
  isFollowing = false;
  /** Something may have been sent since the last look at blocks began. */
  #mustFollow = false;
  /** Something may have come into a block since the last look at final blocks. */
  #hasFollowed = true;
  #mustSweep = false;
  #knownBelow: bigint | undefined;

  constructor(lease: WatchedLease, broadcaster: Broadcaster, context: LaneWatchContext) {
    const { schedule } = context;
    this.#lease = lease;
    this.#context = context;
    this.#failures = createFailures(context.log, "watcher");
    this.#watcher = createWatcher(context, broadcaster, () => {
      for (const look of this.#doubts) look.wake();
    });
    this.#blocks = schedule.look(this.#withLease((held) => this.#followBlocks(held)));
    this.#turns = createTurns(schedule);
    this.#doubts = this.#watcher.doubts.questions.map((question) => this.#ask(question));
    const sweep = createSweep(context);
    this.#sweeps = this.#ask(async (lane) => (this.#mustSweep ? await sweep(lane) : undefined));
    this.#accounts = this.#ask(createNonceAccount(context));
    this.#lostBlocks = createLostBlocksCheck(context, patienceClock(context.patience));
    this.#finality = this.#turns.look(this.#withLease((held) => this.#compareFinality(held)));
  }

  /** The lane's wait, by what its looks at the chain have met. @param ofStep the wait by its last step. */
  waitBeside(ofStep: LaneWait | undefined): LaneWait | undefined {
    const { wait } = this.#lostBlocks;
    if (wait) return wait;
    const waits = this.#failures.waits();
    const byStore = waits.find(({ cause }) => cause === "store");
    const byNodes = FOR_BLOCKS.has(ofStep?.cause) ? waits.find(({ cause }) => cause === "nodes") : undefined;
    return byStore ?? byNodes ?? ofStep;
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

  /** Accounts for the nonces that the chain has used. @param next the waiver's next nonce. */
  onNextNonce = (next: bigint): void => {
    const lease = this.#lease.current();
    if (lease && lease.state !== "stopped" && next !== this.#knownBelow) this.#accounts.start();
  };

  /** Follows what the lane has sent, and asks what is due and concerns something that the lane has. */
  onStatus = (status: LaneStatus): void => {
    if (this.#lease.current() === undefined) return;
    const { queued, inFlight, hasUnfinalized, hasWithdrawn, hasOpenWrapper } = status;
    this.#knownBelow = status.knownBelow;
    if (inFlight > 0 || hasUnfinalized) this.follow();
    if (hasOpenWrapper || this.#context.nonceProofs.isSearching) this.#startDoubts();
    this.#mustSweep = queued + inFlight > 0 || hasWithdrawn;
    if (this.#mustSweep) this.#sweeps.start();
    this.#finality.start();
  };

  async close(): Promise<void> {
    await Promise.all([this.#blocks.end(), this.#turns.end()]);
  }

  async #followBlocks({ lane, state }: Lease): Promise<number | undefined> {
    this.#mustFollow = false;
    this.#hasFollowed = true;
    const isFollowing = await this.#watcher.poll(lane, state === "stopped" ? "silent" : this.#context.mode);
    this.#startDoubts();
    this.isFollowing = isFollowing || this.#mustFollow;
    return this.isFollowing ? this.#idleMs : undefined;
  }

  /** Compares the lane's last final block with the chain, and accounts for nonces anew after the store has moved. */
  async #compareFinality({ lane, state }: Lease): Promise<number> {
    if (state === "stopped") return this.#finalityMs;
    const isIdle = !this.#hasFollowed;
    this.#hasFollowed = this.isFollowing;
    await this.#lostBlocks.run(lane, isIdle);
    if (await this.#context.store.moves.hasMoved(MOVE_CHECK_MS)) this.#accounts.start();
    return this.#finalityMs;
  }

  #startDoubts(): void {
    for (const look of this.#doubts) look.start();
  }

  #ask(question: Question): Look {
    return this.#turns.look(this.#withLease(({ lane }) => question(lane)));
  }

  /** Looks with the lane's lease. Without it, the look rests; after a failure, it comes again. */
  #withLease(lookAt: (lease: Lease) => Promise<number | undefined>): LookAgain {
    return async () => {
      const held = this.#lease.current();
      if (held === undefined) {
        this.#failures.drop(lookAt);
        this.isFollowing = false;
        return undefined;
      }
      try {
        const restMs = await lookAt(held);
        this.#failures.end(lookAt);
        return restMs;
      } catch (error) {
        if (error instanceof LeaseLostError) this.#lease.forget();
        this.#failures.note(lookAt, error);
        return this.#idleMs;
      }
    };
  }

  get #finalityMs(): number {
    return INTERVALS_PER_FINALITY * this.#context.options.pollIntervalMs;
  }

  get #idleMs(): number {
    return INTERVALS_WHEN_IDLE * this.#context.options.pollIntervalMs;
  }
}
