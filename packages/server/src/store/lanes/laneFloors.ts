import { bytesToHex } from "@gas-waiver/protocol";

/** The places in two indexes of `unfinished` below which a lane has no live entry. */
export interface LaneFloor {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** No queued submission of the lane has an earlier `look_at`. */
  readonly queueFloor: Date;
  /** No included submission of the lane is in a block below this one. */
  readonly blockFloor: bigint;
}

/**
 * The floors of all lanes, which this replica takes from its readings of the lanes. A query that begins at a floor passes over
 * the dead entries below it. They stay as long as any transaction is open in the database, and there is one for each
 * submission.
 *
 * A floor rests on what was committed when it was read. A write that begins later puts nothing below the queue's floor, which
 * is {@link SLACK_MS} in the past. What a slower write has put there, or a node has shown in an earlier block, is found by the
 * next reading without floors. There is one a second, and at most a fiftieth of the time goes to them.
 */
export class LaneFloors {
  #floors = new Map<string, LaneFloor>();
  #fullAt = Number.NEGATIVE_INFINITY;
  #fullMs = 0;

  /** Returns the floors of a lane; undefined if it has none yet. */
  of(waiver: Uint8Array): LaneFloor | undefined {
    return this.#floors.get(bytesToHex(waiver));
  }

  /** Returns whether it is time for a reading without floors. */
  isFullDue(now: number): boolean {
    return now - this.#fullAt >= Math.max(FULL_EVERY_MS, this.#fullMs * PERIODS_PER_FULL);
  }

  /**
   * Replaces the floors by those of a reading.
   * @param full when the reading began and how long it took, if it had no floors itself.
   */
  replace(
    floors: readonly LaneFloor[],
    full?: { readonly startedAt: number; readonly tookMs: number },
  ): void {
    this.#floors = new Map(floors.map((floor) => [bytesToHex(floor.waiver), floor]));
    if (full === undefined) return;
    this.#fullAt = full.startedAt;
    this.#fullMs = full.tookMs;
  }
}

/** The time in which a write is seen after its start, from which the `look_at` of its submissions counts. */
export const SLACK_MS = 2_000;
const FULL_EVERY_MS = 1_000;
const PERIODS_PER_FULL = 50;
