import type { Logger } from "../../model/telemetry/log.js";
import { createWakeableTimer } from "../../util/wakeableTimer.js";
import type { NodeClient } from "../client/nodeClient.js";
import type { EndpointHeads } from "../rpc/endpointHeads.js";
import { followHeads } from "./heads.js";

export type BlockWatch = ReturnType<typeof createBlockWatch>;

/** The lanes and policies of the replica. */
export interface BlockWatchUsers {
  /** Whether they wait for a block. If nobody does, the height is polled less often. */
  isAwaited(): boolean;
  /**
   * Called with each change of the height, also after a reorg.
   * @param height undefined if only the fact of a new block is known.
   */
  onNewBlock(height: bigint | undefined): void;
}

export interface BlockWatchOptions {
  readonly chain: Pick<NodeClient, "blockNumber">;
  /** The heads of the nodes. While nobody waits for a block, they tell the height, if they are polled as often. */
  readonly heads: Pick<EndpointHeads, "freshHeight" | "onNewHead">;
  readonly pollIntervalMs: number;
  /** A WebSocket of the node, which announces new blocks. */
  readonly rpcWsUrl?: string | undefined;
  readonly log: Logger;
}

/** Where nobody waits for a block, this many intervals are between two polls. */
export const INTERVALS_WHEN_IDLE = 5;
/** A head of a node counts as its present one until it is this old, as a part of the interval without anybody who waits. */
const MAX_IDLE_AGE = 1.5;

/** Polls the height of the chain for the whole replica, and subscribes to new blocks where the node has a WebSocket. */
export function createBlockWatch({ chain, heads, pollIntervalMs, rpcWsUrl, log }: BlockWatchOptions) {
  const timer = createWakeableTimer();
  const idleMs = INTERVALS_WHEN_IDLE * pollIntervalMs;
  const { announced, ...progress } = createProgress(timer.wake);
  const readHeight = async (isAwaited: boolean, known: bigint | undefined) => {
    const seen = isAwaited ? undefined : heads.freshHeight(performance.now() - MAX_IDLE_AGE * idleMs);
    // A head below the known height may be older than it. Only the node can tell whether the chain went back.
    return seen !== undefined && (known === undefined || seen >= known) ? seen : await chain.blockNumber();
  };
  let isClosed = false;
  let known: bigint | undefined;
  let running: Promise<void> = Promise.resolve();
  let subscription: ReturnType<typeof followHeads> | undefined;
  const poll = async (isAwaited: () => boolean, announce: (height: bigint) => void) => {
    while (!isClosed) {
      // The watch of the nodes reports one that does not answer.
      const height = await readHeight(isAwaited(), known).catch(() => known);
      if (isClosed) return;
      if (height !== undefined && height !== known) announce(height);
      known = height;
      await timer.rest(isAwaited() ? pollIntervalMs : idleMs, true);
    }
  };
  return {
    /** Starts to poll. Call it once. */
    start(users: BlockWatchUsers) {
      const isAwaited = () => users.isAwaited() || announced.hasListeners();
      const announce = (height?: bigint) => {
        users.onNewBlock(height);
        announced.add(height);
      };
      heads.onNewHead(() => {
        if (!isAwaited()) timer.wake();
      });
      running = poll(isAwaited, announce);
      if (rpcWsUrl !== undefined) subscription = followHeads(rpcWsUrl, log, announce);
    },
    /** Polls soon, and more often: somebody waits for a block now. */
    hurry: timer.wake,
    /** Returns the height by the last poll; undefined before one was answered. */
    polled: () => known,
    ...progress,
    async close() {
      isClosed = true;
      subscription?.close();
      timer.end();
      await running;
    },
  };
}

/**
 * The chain's progress, for whoever listens at the time.
 * @param onListener called when the first listener has come.
 */
function createProgress(onListener: () => void) {
  const listeners = new Set<() => void>();
  const rewindListeners: (() => void)[] = [];
  let latest: bigint | undefined;
  return {
    announced: {
      hasListeners: () => listeners.size > 0,
      add(height: bigint | undefined) {
        latest = height ?? latest;
        for (const listener of listeners) listener();
      },
    },
    /** Returns the latest height that was announced; undefined until the first, and after a rewind. */
    height: () => latest,
    /** Calls the listener with each new block, and polls as often as for a lane. @returns a function that ends the listening. */
    onNewBlock(listener: () => void) {
      listeners.add(listener);
      if (listeners.size === 1) onListener();
      return () => void listeners.delete(listener);
    },
    /** Tells that a developer took the chain back, so that blocks that counted as final are gone. */
    announceRewind() {
      latest = undefined;
      for (const listener of rewindListeners) listener();
    },
    onRewind: (listener: () => void) => void rewindListeners.push(listener),
  };
}
