import { createWakeableTimer } from "../../util/wakeableTimer.js";
import type { NodeClient } from "../client/nodeClient.js";
import type { EndpointHeads } from "../rpc/endpointHeads.js";

export type BlockWatch = ReturnType<typeof createBlockWatch>;

export interface BlockWatchUsers {
  /** Whether anybody waits for a block. If not, the height is polled less often. */
  isAwaited(): boolean;
  /** Called with each change of the height, also after a reorg. */
  onNewBlock(height: bigint): void;
}

export interface BlockWatchOptions {
  readonly chain: Pick<NodeClient, "blockNumber">;
  /** The heads of the nodes. While nobody waits for a block, they tell the height, if they are polled as often. */
  readonly heads: Pick<EndpointHeads, "freshHeight" | "onNewHead">;
  readonly pollIntervalMs: number;
}

/** Where nobody waits for a block, this many intervals are between two polls. */
export const INTERVALS_WHEN_IDLE = 5;
/** A head of a node counts as its present one until it is this old, as a part of the interval without anybody who waits. */
const MAX_IDLE_AGE = 1.5;

/** Polls the height of the chain for the whole replica. */
export function createBlockWatch({ chain, heads, pollIntervalMs }: BlockWatchOptions) {
  const timer = createWakeableTimer();
  const idleMs = INTERVALS_WHEN_IDLE * pollIntervalMs;
  const readHeight = async (isAwaited: boolean, known: bigint | undefined) => {
    const seen = isAwaited ? undefined : heads.freshHeight(performance.now() - MAX_IDLE_AGE * idleMs);
    // A head below the known height may be older than it. Only the node can tell whether the chain went back.
    return seen !== undefined && (known === undefined || seen >= known) ? seen : await chain.blockNumber();
  };
  let isClosed = false;
  let known: bigint | undefined;
  let running: Promise<void> = Promise.resolve();
  const poll = async ({ isAwaited, onNewBlock }: BlockWatchUsers) => {
    while (!isClosed) {
      // The watch of the nodes reports one that does not answer.
      const height = await readHeight(isAwaited(), known).catch(() => known);
      if (isClosed) return;
      if (height !== undefined && height !== known) onNewBlock(height);
      known = height;
      await timer.rest(isAwaited() ? pollIntervalMs : idleMs, true);
    }
  };
  return {
    /** Starts to poll. Call it once. */
    start(users: BlockWatchUsers) {
      heads.onNewHead(() => {
        if (!users.isAwaited()) timer.wake();
      });
      running = poll(users);
    },
    /** Polls soon, and more often: somebody waits for a block now. */
    hurry: timer.wake,
    /** Returns the height by the last poll; undefined before one was answered. */
    height: () => known,
    async close() {
      isClosed = true;
      timer.end();
      await running;
    },
  };
}
