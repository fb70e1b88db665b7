import { detailsOf } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";

/** A batch that waits for its tokens. */
interface Waiter {
  readonly count: number;
  readonly position: number;
}

/** Keeps a rate: a bucket of tokens that is full at the start. The batch of the lowest position takes first. */
export class Pacer {
  readonly #perMs: number;
  readonly #most: number;
  readonly #waiters = new Set<Waiter>();
  #tokens: number;
  #at = performance.now();

  constructor(perSecond: number, burst: number) {
    this.#perMs = perSecond / 1_000;
    this.#most = burst;
    this.#tokens = burst;
  }

  /** Waits until so many tokens are there beside those of the batches before this one, and takes them. */
  async take(count: number, position: number, signal: AbortSignal): Promise<void> {
    const own = { count, position };
    this.#waiters.add(own);
    try {
      for (;;) {
        this.#refill();
        const lacking = this.#countUpTo(position) - this.#tokens;
        if (lacking <= 0) break;
        // By then an earlier batch may have joined, which waits again after a refusal.
        await pause(Math.ceil(lacking / this.#perMs), signal);
      }
      this.#tokens -= count;
    } finally {
      this.#waiters.delete(own);
    }
  }

  /**
   * Follows a refusal of the service: so many tokens are there again after its pause at the earliest, and after a random time
   * on top, or of several programs with one key and one rhythm always the same one would be refused.
   */
  slowDown(count: number, pauseMs: number): void {
    this.#refill();
    const tokens = Math.min(0, count - pauseMs * this.#perMs) - Math.random() * count;
    this.#tokens = Math.min(this.#tokens, tokens);
  }

  #refill(): void {
    const now = performance.now();
    this.#tokens = Math.min(this.#most, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
  }

  #countUpTo(position: number): number {
    let sum = 0;
    for (const waiter of this.#waiters) if (waiter.position <= position) sum += waiter.count;
    return sum;
  }
}

/** The batch that a {@link pacedConnection} is for. */
interface PacedBatch {
  readonly count: number;
  readonly position: number;
  readonly signal: AbortSignal;
  readonly onRefusal: () => void;
}

/**
 * Returns a connection that sends a batch again for as long as the key's rate is used up: by the process that was killed before
 * this one, or by others with the key. Such a refusal has accepted nothing and says when to come again, so it is no failed attempt.
 */
export function pacedConnection(connection: Connection, pacer: Pacer, batch: PacedBatch): Connection {
  const { count, position, signal, onRefusal } = batch;
  return {
    async request(route, init) {
      for (;;) {
        try {
          return await connection.request(route, init);
        } catch (error) {
          if (!isPassingRateRefusal(error)) throw error;
          onRefusal();
          pacer.slowDown(count, error.retryAfterMs ?? 0);
          await pacer.take(count, position, signal);
        }
      }
    },
  };
}

function isPassingRateRefusal(error: unknown): error is RequestRefusedError {
  if (!(error instanceof RequestRefusedError) || error.reason !== "RATE_EXCEEDED") return false;
  // More than the burst never passes; the key's limits were changed after they were read.
  const { asked = 0, burst = Number.POSITIVE_INFINITY } = detailsOf(error, "RATE_EXCEEDED") ?? {};
  return Number(asked) <= burst;
}
