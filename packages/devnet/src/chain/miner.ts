import type { Chain } from "./chain.js";

export interface Miner {
  /** For a chain that mines on demand: makes a block if something can run. */
  afterRequest(): Promise<void>;
  /** Stops, and waits for the block that is being built. */
  close(): Promise<void>;
}

export interface MinerOptions {
  readonly blockTimeMs: number;
  readonly automine: boolean;
  /** Told of a block that could not be made; mining goes on. */
  readonly onError: (error: unknown) => void;
}

/** Decides when blocks are made: at an interval, with empty ones in between, or on demand. */
export function startMiner(chain: Chain, { blockTimeMs, automine, onError }: MinerOptions): Miner {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const schedule = (due: number) => {
    if (closed) return;
    timer = setTimeout(() => tick(due), Math.max(0, due - performance.now()));
  };
  const tick = async (due: number) => {
    try {
      await chain.mine();
    } catch (error) {
      onError(error);
    }
    // By the clock and not after the work, or blocks would drift; a block that was late is not made up for.
    schedule(Math.max(due + blockTimeMs, performance.now()));
  };
  if (blockTimeMs > 0) schedule(performance.now() + blockTimeMs);

  return {
    async afterRequest() {
      if (blockTimeMs === 0 && automine && !closed) await chain.mineIfReady();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await chain.settled();
    },
  };
}
