/** One sample is taken for lower where it differs by less: the two clocks never run at quite the same speed. */
const TOLERANCE_MS = 100;
/** Samples are kept for longer than any limit of an age that a decision rests on. */
const KEPT_MS = 25 * 3_600_000;
/** A step of the database's clock forwards is followed after this time. */
const FOLLOWED_AFTER_MS = 30_000;

/** From `since` on (ms of the monotonic clock), the database's clock was at least `offset` ms ahead of the monotonic one. */
interface Floor {
  readonly since: number;
  readonly offset: number;
}

/**
 * The database's clock, compared with this process's monotonic clock (D36). Times in rows are the database's. A step of that clock,
 * forwards or back, makes nothing older than it is: an age counts only as far as the monotonic clock has measured it too.
 */
export class DatabaseClock {
  readonly #now: () => number;
  /** Later floors are higher: each holds until now. */
  readonly #floors: Floor[] = [];
  #aheadMs = 0;

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Notes a reading of the database's clock whose answer has just come. An answer that came late delays, and harms nothing. */
  note(reading: Date): void {
    const now = this.#now();
    this.#aheadMs = reading.getTime() - Date.now();
    const offset = reading.getTime() - now;
    let since = now;
    for (let last = this.#floors.at(-1); last && last.offset >= offset; last = this.#floors.at(-1)) {
      since = last.since;
      this.#floors.pop();
    }
    const lower = this.#floors.at(-1);
    if (since !== now || lower === undefined || offset - lower.offset > TOLERANCE_MS)
      this.#floors.push({ since, offset });
    while (this.#floors[1] && this.#floors[1].since <= now - KEPT_MS) this.#floors.shift();
  }

  /**
   * Returns a time of the database's clock before which a row was surely written at least `ms` ago.
   * @returns undefined while this process has watched the clock for less than that.
   */
  before(ms: number): Date | undefined {
    const moment = this.#now() - ms;
    const floor = this.#floorAt(moment);
    return floor && new Date(moment + floor.offset);
  }

  /** Like {@link before}, for limits longer than a process may live: what was before its start is told by this machine's clock too. */
  longBefore(ms: number): Date {
    const floor = this.#floorAt(this.#now() - ms) ?? this.#floors[0];
    const machineMs = Date.now() - ms;
    return new Date(floor ? Math.min(machineMs, this.#now() - ms + floor.offset) : machineMs);
  }

  /** The age that a row with this time surely has, in ms. */
  ageOf(written: Date): number {
    for (const [i, { since, offset }] of this.#floors.entries()) {
      const writtenBy = Math.max(since, written.getTime() - offset);
      const end = this.#floors[i + 1]?.since ?? this.#now();
      if (writtenBy < end) return this.#now() - writtenBy;
    }
    return 0;
  }

  /** The present time in ms, for ids: the database's, which may step forwards for half a minute without effect. */
  present(): number {
    const now = this.#now();
    const floor = this.#floorAt(now - FOLLOWED_AFTER_MS) ?? this.#floors[0];
    return floor ? now + floor.offset : Date.now();
  }

  /** The time in ms by which the database's clock was ahead of this machine's at the last reading. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  #floorAt(moment: number): Floor | undefined {
    return this.#floors.findLast(({ since }) => since <= moment);
  }
}
