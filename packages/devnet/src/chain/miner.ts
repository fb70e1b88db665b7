import type { Chain } from "./chain.js";

export interface MinerOptions {
  /** Milliseconds from block to block; 0 for no interval. */
  readonly blockTimeMs: number;
  /** Whether a block follows each request that brought a transaction, while there is no interval. */
  readonly automine: boolean;
  /** Receives the error of a block that could not be made. Mining goes on. */
  readonly onError: (error: unknown) => void;
}

/**
 * Decides when blocks are made: at an interval, empty ones included, or on demand after requests. While it is paused,
 * only `evm_mine` and the like make blocks.
 */
export class Miner {
  readonly #chain: Chain;
  readonly #onError: (error: unknown) => void;
  #blockTimeMs: number;
  #automine: boolean;
  /** While true, neither the interval nor a request brings a block. */
  isPaused = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Counts the schedules. A block of an earlier schedule may still be in progress; it must not set the next timer. */
  #schedule = 0;

  constructor(chain: Chain, { blockTimeMs, automine, onError }: MinerOptions) {
    this.#chain = chain;
    this.#onError = onError;
    this.#blockTimeMs = blockTimeMs;
    this.#automine = automine;
    this.#restart();
  }

  /** Makes a block after a request, if blocks are made on demand and some transaction can run. */
  async afterRequest(): Promise<void> {
    const onDemand = this.#blockTimeMs === 0 && this.#automine && !this.isPaused && !this.#closed;
    if (onDemand) await this.#chain.mineIfReady();
  }

  /** Whether a block follows each request that brought a transaction, while there is no interval. */
  get automine(): boolean {
    return this.#automine;
  }

  /** Switching it on ends an interval. Switching it off leaves an interval as it is. */
  set automine(on: boolean) {
    this.#automine = on;
    if (on && this.#blockTimeMs > 0) this.blockTimeMs = 0;
  }

  /** Milliseconds from block to block; 0 for no interval. */
  get blockTimeMs(): number {
    return this.#blockTimeMs;
  }

  /** Starts a new interval; 0 ends the interval. */
  set blockTimeMs(ms: number) {
    this.#blockTimeMs = ms;
    this.#restart();
  }

  /** Stops, and waits for the block that is being built. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#chain.idle();
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#schedule++;
    if (this.#blockTimeMs > 0) this.#setTimer(performance.now() + this.#blockTimeMs, this.#schedule);
  }

  #setTimer(due: number, schedule: number): void {
    if (this.#closed || schedule !== this.#schedule) return;
    this.#timer = setTimeout(() => this.#tick(due, schedule), Math.max(0, due - performance.now()));
  }

  async #tick(due: number, schedule: number): Promise<void> {
    try {
      if (!this.isPaused) await this.#chain.mine();
    } catch (error) {
      this.#onError(error);
    }
    // The next block is due by the clock, so that blocks do not drift. A late block is not made up for.
    this.#setTimer(Math.max(due + this.#blockTimeMs, performance.now()), schedule);
  }
}
