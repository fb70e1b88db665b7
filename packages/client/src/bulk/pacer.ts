import { detailsOf } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { pause } from "../http/pause.js";

/** A batch that waits for its tokens. */
interface Waiter {
  readonly count: number;
  readonly position: number;
}

export type Pacer = ReturnType<typeof createPacer>;

/** Keeps a rate: a bucket of tokens that is full at the start. The batch of the lowest position takes first. */
export function createPacer(perSecond: number, burst: number) {
  const perMs = perSecond / 1_000;
  const waiters = new Set<Waiter>();
  let tokens = burst;
  let at = performance.now();
  const refill = () => {
    const now = performance.now();
    tokens = Math.min(burst, tokens + (now - at) * perMs);
    at = now;
  };
  const countUpTo = (position: number) => {
    let sum = 0;
    for (const waiter of waiters) if (waiter.position <= position) sum += waiter.count;
    return sum;
  };
  return {
    /** Waits until so many tokens are there beside those of the batches before this one, and takes them. */
    async take(count: number, position: number, signal: AbortSignal): Promise<void> {
      const own = { count, position };
      waiters.add(own);
      try {
        for (;;) {
          refill();
          const lacking = countUpTo(position) - tokens;
          if (lacking <= 0) break;
          // By then an earlier batch may have joined, which waits again after a refusal.
          await pause(Math.ceil(lacking / perMs), signal);
        }
        tokens -= count;
      } finally {
        waiters.delete(own);
      }
    },
    /**
     * Follows a refusal of the service: so many tokens are there again after its pause at the earliest, and after a random time
     * on top, or of several programs with one key and one rhythm always the same one would be refused.
     */
    slowDown(count: number, pauseMs: number): void {
      refill();
      tokens = Math.min(tokens, Math.min(0, count - pauseMs * perMs) - Math.random() * count);
    },
  };
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
