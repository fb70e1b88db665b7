import { bytesEqual } from "@gas-waiver/protocol";
import { INTERVALS_WHEN_IDLE } from "../../chain/heads/blockWatch.js";
import { createNonceProofs } from "../../chain/nonceProof.js";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { patienceClock } from "../../model/patience.js";
import type { LaneWait, LaneWaitCause } from "../../model/submission/waitCauses.js";
import type { Logger } from "../../model/telemetry/log.js";
import { findUnfinalized, type UnfinalizedSubmission } from "../../store/lanes/blocks/inclusions.js";
import { type HeldLane, LeaseLostError } from "../../store/lanes/heldLane.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Lease } from "../../store/lanes/lease.js";
import { raiseNonceFloor } from "../../store/lanes/nonces/nonceFloor.js";
import {
  findFirstUnusedNonce,
  findInFlight,
  type InFlightSubmission,
} from "../../store/lanes/queue/unfinished.js";
import { saveFinal } from "../../store/transitions/saveFinal.js";
import { saveReorged } from "../../store/transitions/saveReorged.js";
import { createTurns, type Look, type LookAgain, type Schedule } from "../../util/schedule.js";
import { type LaneDependencies, logFailure, type WatchContext } from "../context.js";
import { createRetries } from "../inbox/retries.js";
import { BroadcastBuffer } from "../law/broadcastBuffer.js";
import { CANDIDATES_PER_BATCH } from "../law/chainOutcomes.js";
import { Entries } from "../law/entries.js";
import { MOVE_CHECK_MS, reconcile } from "../law/reconcile.js";
import { createStruckTurn } from "../law/strikes.js";
import type { LaneLease } from "../own/lease.js";
import { NotBroadcastError } from "../send/applyAnswers.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { HeadOfLine } from "../send/head.js";
import { createSenderGaps } from "../send/senderNonces.js";
import { createDoubts, createSweep, type Question } from "./doubts.js";
import { createHeadWatch } from "./headWatch.js";
import { waitAfter } from "./laneWaits.js";
import { createLostBlocksCheck, createNonceAccount } from "./lost.js";

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
  return {
    entries: new Entries(now),
    broadcastBuffer: new BroadcastBuffer(dependencies),
    headOfLine: new HeadOfLine(),
    struckTurn: createStruckTurn(),
    retries: createRetries(),
    senderGaps: createSenderGaps(chain),
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

/**
 * - `signs`: this process signs and sends for the lane.
 * - `sends`: nobody signs for the lane. Its stored wrappers go out again.
 * - `silent`: nobody signs for the lane, and nothing may be sent: it is stopped.
 *
 * Where nobody signs, another lane gets the submissions that blocks leave out (L10).
 */
export type WatchMode = "signs" | "sends" | "silent";

export type Watcher = ReturnType<typeof createWatcher>;

/**
 * The store's floor of the waiver's nonces is raised after so many. Where blocks are final late, the floor stays far below the chain's
 * nonce, and each attempt locks the lane's row against its writes.
 */
const NONCES_PER_RAISE = 500n;

/**
 * Follows the chain for one lane: reconciles the submissions below the waiver's nonce, sends again those whose wrapper waits too long
 * for a block, and notices when a reorg removes a block with one of the lane's submissions.
 * @param onNews called when doubts have begun, or proofs were found.
 */
export function createWatcher(
  context: WatchContext,
  broadcaster: Broadcaster,
  onNews: () => void = () => {},
) {
  const { store, chain, options } = context;
  const doubts = createDoubts(context, onNews);
  const headWatch = createHeadWatch(context);
  let raiseAt = 0n;
  /**
   * Compares the lane with the chain once.
   * @returns whether something of the lane is in flight, or in a block that is not final.
   */
  const poll = async (held: HeldLane, mode: WatchMode = "signs"): Promise<boolean> => {
    const blockFloor = context.store.laneFloors.of(held.waiver)?.blockFloor;
    const unfinalized =
      options.reorgDepth > 0 ? await findUnfinalized(store, held, CANDIDATES_PER_BATCH, blockFloor) : [];
    const [first] = await findInFlight(store, held, { limit: 1 });
    const { headOfLine } = context;
    const { isFree } = headOfLine;
    if (first === undefined && !isFree) headOfLine.forget();
    if (first === undefined && unfinalized.length === 0 && !isFree) return false;
    const block = await chain.blockNumber();
    await checkBlocks(held, unfinalized, block, context);
    if (first === undefined && !isFree) return true;
    const [told = 0n] = await chain.nonces([held.waiver]);
    // Where a nonce stands still, the store may have it in a block that the node's nonces do not count.
    const waiverNonce = headOfLine.isBraked ? await findFirstUnusedNonce(store, held, told) : told;
    await doubts.follow(held, waiverNonce);
    if (waiverNonce >= raiseAt) {
      await raiseNonceFloor(store, held, waiverNonce);
      raiseAt = waiverNonce + NONCES_PER_RAISE;
    }
    if (mode === "sends") await untilLater(broadcaster.resendSigned(held));
    await headWatch.run(held, { block, waiverNonce, signs: mode === "signs" });
    await settleOverdue(held, waiverNonce, mode, context, broadcaster);
    return true;
  };
  return { poll, doubts };
}

/** Compares the blocks that are not final yet with the chain: each is still there, deep enough, or gone. */
async function checkBlocks(
  held: HeldLane,
  unfinalized: readonly UnfinalizedSubmission[],
  head: bigint,
  { store, chain, options, log }: WatchContext,
): Promise<void> {
  if (unfinalized.length === 0) return;
  const heights = [...new Set(unfinalized.map(({ blockNumber }) => blockNumber))];
  const hashes = await chain.blockHashes(heights);
  const hashOf = new Map(
    heights.map((height, i) => [height, hashes[i] === "unclear" ? undefined : hashes[i]]),
  );
  const isThere = ({ blockNumber, blockHash }: UnfinalizedSubmission) => {
    const hash = hashOf.get(blockNumber);
    return hash !== undefined && bytesEqual(hash, blockHash);
  };
  const depth = BigInt(options.reorgDepth);
  const final = unfinalized
    .filter((one) => isThere(one) && head - one.blockNumber >= depth)
    .map(({ id }) => id);
  await saveFinal(store, held, final);
  // A node that is behind does not have the block yet. Only another block in its place counts.
  const reorged = unfinalized.filter((one) => hashOf.get(one.blockNumber) !== undefined && !isThere(one));
  if (reorged.length === 0) return;
  const ids = reorged.map(({ id }) => id);
  log.warn({ ids, head: head.toString() }, "a reorg took blocks away; their submissions are followed again");
  await saveReorged(store, held, ids);
}

/** Sends the lane's wrappers that wait too long for a block again, the same bytes. */
export async function settleOverdue(
  held: HeldLane,
  waiverNonce: bigint,
  mode: WatchMode,
  context: WatchContext,
  broadcaster: Broadcaster,
): Promise<void> {
  const { store, options, broadcastBuffer, headOfLine } = context;
  const areAllStale = headOfLine.takeLoss();
  if (areAllStale) await broadcastBuffer.flush();
  if (mode === "silent") return;
  const stale = await findInFlight(store, held, {
    ...{ state: "broadcast", from: waiverNonce, limit: CANDIDATES_PER_BATCH },
    ...(areAllStale ? {} : { sentBeforeMs: options.resendAfterMs }),
  });
  if (stale.length === 0) return;
  const waiting = await withoutIncluded(held, stale, context);
  // The node that takes the lane's wrappers may be the one that loses them.
  if (areAllStale) void broadcaster.sendToOthers(waiting);
  await untilLater(broadcaster.send(held, waiting));
}

/** Reconciles those that blocks have: a node may tell the waiver's nonce as unused long after. @returns the others. */
async function withoutIncluded(
  held: HeldLane,
  stale: readonly InFlightSubmission[],
  context: WatchContext,
): Promise<readonly InFlightSubmission[]> {
  // Some nodes hold back their answer to a receipt that is not there.
  const areIncluded = await context.chain
    .areIncluded(stale.map(({ innerHash }) => innerHash))
    .catch(() => []);
  await reconcile(
    held,
    stale.filter((_, i) => areIncluded[i] === true),
    context,
  );
  return stale.filter((_, i) => areIncluded[i] !== true);
}

/** Waits for a send. A later poll sends again the wrappers that the node does not take now. */
export async function untilLater(sending: Promise<void>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof NotBroadcastError)) throw error;
  }
}
