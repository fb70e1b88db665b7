import { randomInt } from "node:crypto";
import { v7 } from "uuid";
import type { DatabaseClock } from "./databaseClock.js";

/** An id's time is at most this far ahead of the clock: a clock that was set back is followed. */
const MAX_AHEAD_MS = 10_000;
const SEQUENCES = 2 ** 31;

/**
 * Makes ids of submissions (D15): UUIDs of version 7 by the database's clock, because the partitions of outcomes go by it. Each
 * id of a process is above the one before, unless the clock was set back.
 */
export function createIds(clock: Pick<DatabaseClock, "present">): () => string {
  let msecs = 0;
  let seq = 0;
  return () => {
    const now = Math.floor(clock.present());
    if (now > msecs || msecs - now > MAX_AHEAD_MS) {
      msecs = now;
      seq = randomInt(SEQUENCES);
    } else seq++;
    return v7({ msecs, seq });
  };
}
