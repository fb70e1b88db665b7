import type { Chain } from "./chain.js";

/** When blocks are made. At run time it can be changed; `pause` comes before all else. */
export interface Miner {
  /** For a chain that mines on demand: makes a block if something can run. */
  afterRequest(): Promise<void>;
  /** Whether a request that brought something is followed by a block, while there is no interval. */
  readonly automine: boolean;
  /** Switched on, it takes the place of an interval. Switched off, an interval goes on. */
  setAutomine(on: boolean): void;
  /** Milliseconds from block to block; 0 ends blocks at an interval. */
  readonly blockTimeMs: number;
  setBlockTime(blockTimeMs: number): void;
  /** No more blocks, by interval or on demand, until `resume`. What `evm_mine` asks for is still made. */
  pause(): void;
  resume(): void;
  readonly paused: boolean;
  /** Stops, and waits for the block that is being built. */
  close(): Promise<void>;
}

export interface MinerOptions {
  readonly blockTimeMs: number;
  readonly automine: boolean;
  /** Told of a block that could not be made; mining goes on. */
  readonly onError: (error: unknown) => void;
}

/**
 * Decides when blocks are made: at an interval, with empty ones in between, or on demand. An interval set at
 * run time begins anew, and comes before `automine`.
 */
export function startMiner(chain: Chain, options: MinerOptions): Miner {
  const { onError } = options;
  let { blockTimeMs, automine } = options;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let paused = false;
  /** Told apart from the schedule before it, whose last block may still be under way. */
  let schedules = 0;

  const schedule = (due: number, current: number) => {
    if (closed || current !== schedules) return;
    timer = setTimeout(() => tick(due, current), Math.max(0, due - performance.now()));
  };
  const tick = async (due: number, current: number) => {
    try {
      if (!paused) await chain.mine();
    } catch (error) {
      onError(error);
    }
    // By the clock and not after the work, or blocks would drift; a block that was late is not made up for.
    schedule(Math.max(due + blockTimeMs, performance.now()), current);
  };
  const restart = () => {
    clearTimeout(timer);
    schedules++;
    if (blockTimeMs > 0) schedule(performance.now() + blockTimeMs, schedules);
  };
  restart();

  return {
    async afterRequest() {
      if (blockTimeMs === 0 && automine && !paused && !closed) await chain.mineIfReady();
    },
    get automine() {
      return automine;
    },
    setAutomine(on) {
      automine = on;
      if (!on || blockTimeMs === 0) return;
      blockTimeMs = 0;
      restart();
    },
    get blockTimeMs() {
      return blockTimeMs;
    },
    setBlockTime(ms) {
      blockTimeMs = ms;
      restart();
    },
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
    },
    get paused() {
      return paused;
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await chain.settled();
    },
  };
}
