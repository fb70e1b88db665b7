import { detailsOf } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import type { Pacer } from "./pacer.js";

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
