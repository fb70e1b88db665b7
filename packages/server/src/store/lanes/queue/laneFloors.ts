import { bytesToHex } from "@gas-waiver/protocol";

/** The places in two indexes of `unfinished` below which a lane has no live entry. */
export interface LaneFloor {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** No queued submission of the lane has an earlier `look_at`. Not in the future. */
  readonly queueFloor: Date;
  /** The first place of those that do not wait. Not in the future. */
  readonly queueHead: Date;
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

type Floors = ReadonlyMap<string, LaneFloor>;

/**
 * The floors of all lanes, which this replica takes from its readings of the lanes. A query that begins at a floor passes over
 * the dead entries below it. They stay as long as any transaction is open in the database, and there is one for each
 * submission.
 *
 * A floor rests on what was committed when it was read, while other replicas go by readings of their own: they may still put
 * a submission at the head that they know. So a floor is the lowest of the readings within the last {@link SLACK_MS}. What a
 * slower write has put below is found by the next reading without floors. There is one a
 * second; where it is slow, at most a fiftieth of the time goes to them, but there is one in ten seconds. Where the store is known
 * to have something below a floor, or has come to another server, the next reading is one.
 */
export class LaneFloors {
  #readings: readonly { readonly startedAt: number; readonly floors: Floors }[] = [];
  #floors = new Map<string, LaneFloor>();
  #fullAt = Number.NEGATIVE_INFINITY;
  #fullMs = 0;
  #server: string | undefined;
  #loweredAt = Number.NEGATIVE_INFINITY;

  /** Returns the floors of a lane; undefined if it has none yet. */
  of(waiver: Uint8Array): LaneFloor | undefined {
    return this.#floors.get(bytesToHex(waiver));
  }

  /** The floors of the lanes that have some. */
  get all(): readonly LaneFloor[] {
    return [...this.#floors.values()];
  }

  /** Returns the head of a lane's queue by the last reading; undefined before the first. */
  headOf(waiver: Uint8Array): Date | undefined {
    return this.#readings.at(-1)?.floors.get(bytesToHex(waiver))?.queueHead;
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
   * Takes the floors of a reading. Without floors of its own, it is a full one. One that has floors of another server is void,
   * and so are those before a full one there.
   */
  replace(floors: readonly LaneFloor[], { isFull, startedAt, tookMs }: Reading): void {
    const server = floors[0]?.serverStart;
    if (server !== this.#server) {
      this.#readings = [];
      this.#floors.clear();
      if (!isFull) {
        this.#loweredAt = startedAt;
        return;
      }
    }
    this.#server = server;
    const isOld = (at: number) => at <= startedAt - SLACK_MS;
    const from = this.#readings.findLastIndex((reading) => isOld(reading.startedAt));
    const reading = { startedAt, floors: new Map(floors.map((one) => [bytesToHex(one.waiver), one])) };
    this.#readings = [...this.#readings.slice(Math.max(0, from)), reading];
    this.#floors = from < 0 ? new Map() : lowestOf(this.#readings.map((one) => one.floors));
    if (!isFull) return;
    this.#fullAt = startedAt;
    this.#fullMs = tookMs;
  }
}

/** Returns the lowest floors of the lanes that all readings have. */
function lowestOf(readings: readonly Floors[]): Map<string, LaneFloor> {
  const [oldest = new Map<string, LaneFloor>(), ...later] = readings;
  const lowest = new Map(oldest);
  for (const floors of later) {
    for (const [waiver, low] of lowest) {
      const floor = floors.get(waiver);
      if (floor === undefined) lowest.delete(waiver);
      else
        lowest.set(waiver, {
          ...floor,
          queueFloor: low.queueFloor < floor.queueFloor ? low.queueFloor : floor.queueFloor,
          blockFloor: low.blockFloor < floor.blockFloor ? low.blockFloor : floor.blockFloor,
        });
    }
  }
  return lowest;
}

/** The time in which a write is seen after the reading on which its place rests. */
const SLACK_MS = 2_000;
const FULL_EVERY_MS = 1_000;
const PERIODS_PER_FULL = 50;
const MAX_PERIOD_MS = 10_000;
