import { bytesToHex } from "@gas-waiver/protocol";

/** The places in two indexes of `unfinished` below which a lane has no live entry. */
export interface LaneFloor {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** No queued submission of the lane has an earlier `look_at`. */
  readonly queueFloor: Date;
  /** No included submission of the lane is in a block below this one. */
  readonly blockFloor: bigint;
  /** The start of the database's server by its own clock: after a failover, what was written on the old one may be undone. */
  readonly serverStart: string;
}

/** A reading of all lanes; times by the clock of {@link LaneFloors.isFullDue}, in ms. */
export interface Reading {
  /** It had no floors itself. */
  readonly isFull: boolean;
  readonly startedAt: number;
  readonly tookMs: number;
}

/**
 * The floors of all lanes, which this replica takes from its readings of the lanes. A query that begins at a floor passes over
 * the dead entries below it. They stay as long as any transaction is open in the database, and there is one for each
 * submission.
 *
 * A floor rests on what was committed when it was read. A write that begins later puts nothing below the queue's floor, which
 * is {@link SLACK_MS} in the past. What a slower write has put there is found by the next reading without floors. There is one a
 * second; where it is slow, at most a fiftieth of the time goes to them, but there is one in ten seconds. Where the store is known
 * to have something below a floor, or has come to another server, the next reading is one.
 */
export class LaneFloors {
  #floors = new Map<string, LaneFloor>();
  #fullAt = Number.NEGATIVE_INFINITY;
  #fullMs = 0;
  #server: string | undefined;
  #loweredAt = Number.NEGATIVE_INFINITY;

  /** Returns the floors of a lane; undefined if it has none yet. */
  of(waiver: Uint8Array): LaneFloor | undefined {
    return this.#floors.get(bytesToHex(waiver));
  }

  /** Returns whether it is time for a reading without floors. */
  isFullDue(now: number): boolean {
    if (this.#loweredAt >= this.#fullAt) return true;
    const periodMs = Math.max(FULL_EVERY_MS, this.#fullMs * PERIODS_PER_FULL);
    return now - this.#fullAt >= Math.min(MAX_PERIOD_MS, periodMs);
  }

  /**
   * Takes note of a submission that this replica has stored as included in this block, which may be older than those of
   * the others: a wrapper may be found long after it landed. Call it after the commit.
   * @param now the time by the clock of {@link isFullDue}.
   */
  lowerTo(waiver: Uint8Array, block: bigint, now: number): void {
    const floor = this.of(waiver);
    if (floor === undefined || floor.blockFloor <= block) return;
    this.#floors.set(bytesToHex(waiver), { ...floor, blockFloor: block });
    // A reading that has begun does not see it, and replaces the floors.
    this.#loweredAt = now;
  }

  /**
   * Replaces the floors by those of a reading. Without floors of its own, it is a full one. One that has floors of another
   * server is void.
   */
  replace(floors: readonly LaneFloor[], { isFull, startedAt, tookMs }: Reading): void {
    const server = floors[0]?.serverStart;
    if (!isFull && server !== this.#server) {
      this.#floors.clear();
      this.#loweredAt = startedAt;
      return;
    }
    this.#server = server;
    this.#floors = new Map(floors.map((floor) => [bytesToHex(floor.waiver), floor]));
    if (!isFull) return;
    this.#fullAt = startedAt;
    this.#fullMs = tookMs;
  }
}

/** The time in which a write is seen after its start, from which the `look_at` of its submissions counts. */
export const SLACK_MS = 2_000;
const FULL_EVERY_MS = 1_000;
const PERIODS_PER_FULL = 50;
const MAX_PERIOD_MS = 10_000;
