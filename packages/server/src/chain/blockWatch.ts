import { createWakeableTimer } from "../util/wakeableTimer.js";
import type { NodeClient } from "./nodeClient.js";

/** Polls the height of the chain for the whole replica. */
export interface BlockWatch {
  /** Starts to poll. Call it once. */
  start(users: BlockWatchUsers): void;
  /** Polls soon, and more often: somebody waits for a block now. */
  hurry(): void;
  close(): Promise<void>;
}

export interface BlockWatchUsers {
  /** Whether anybody waits for a block. If not, the height is polled less often. */
  isAwaited(): boolean;
  /** Called with each change of the height, also after a reorg. */
  onNewBlock(height: bigint): void;
}

export interface BlockWatchOptions {
  readonly chain: Pick<NodeClient, "blockNumber">;
  readonly pollIntervalMs: number;
}

/** Where nobody waits for a block, this many intervals are between two polls. */
export const INTERVALS_WHEN_IDLE = 5;

export function createBlockWatch({ chain, pollIntervalMs }: BlockWatchOptions): BlockWatch {
  const timer = createWakeableTimer();
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  const poll = async ({ isAwaited, onNewBlock }: BlockWatchUsers) => {
    let known: bigint | undefined;
    while (!isClosed) {
      // The watch of the nodes reports one that does not answer.
      const height = await chain.blockNumber().catch(() => known);
      if (isClosed) return;
      if (height !== undefined && height !== known) onNewBlock(height);
      known = height;
      await timer.rest(isAwaited() ? pollIntervalMs : INTERVALS_WHEN_IDLE * pollIntervalMs, true);
    }
  };
  return {
    start(users) {
      running = poll(users);
    },
    hurry: timer.wake,
    async close() {
      isClosed = true;
      timer.end();
      await running;
    },
  };
}
