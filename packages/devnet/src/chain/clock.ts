import { RefusedError } from "../pool/refusedError.js";

/** The part of the clock that a snapshot keeps. */
export interface ClockSetting {
  readonly offsetSeconds: bigint;
  /** The timestamp that was set for the next block, if any. */
  readonly next: bigint | undefined;
}

/** Gives blocks their timestamps, from the system's clock and an offset that tests may change. */
export class Clock {
  readonly #now: () => number;
  #offsetSeconds = 0n;
  #next: bigint | undefined;
  /** The seconds between blocks; undefined while blocks have the time at which they are made. */
  interval: bigint | undefined;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the time in seconds since 1970. */
  now(): bigint {
    return BigInt(Math.floor(this.#now() / 1000)) + this.#offsetSeconds;
  }

  get setting(): ClockSetting {
    return { offsetSeconds: this.#offsetSeconds, next: this.#next };
  }

  /** Restores the offset and the next block's timestamp. Time continues from the present. */
  restore({ offsetSeconds, next }: ClockSetting): void {
    this.#offsetSeconds = offsetSeconds;
    this.#next = next;
  }

  /** Follows the system's clock again. */
  reset(): void {
    this.restore({ offsetSeconds: 0n, next: undefined });
    this.interval = undefined;
  }

  /** Moves the clock forward. @returns the seconds by which it is now ahead of the system's clock. */
  increase(seconds: bigint): bigint {
    this.#offsetSeconds += seconds;
    return this.#offsetSeconds;
  }

  /**
   * Sets the next block's exact timestamp. Time continues from there.
   * @throws {@link RefusedError} for a time before the latest block's.
   */
  setNextTimestamp(seconds: bigint, latest: bigint): void {
    if (seconds < latest) {
      throw new RefusedError(
        "TIMESTAMP_IN_THE_PAST",
        `timestamp ${seconds} is before the latest block's, ${latest}`,
        { timestamp: seconds.toString(), latest: latest.toString() },
      );
    }
    this.#next = seconds;
  }

  /** Returns the next block's timestamp, and uses up one that was set. @param latest the latest block's timestamp. */
  takeTimestamp(latest: bigint): bigint {
    const next = this.#next ?? (this.interval === undefined ? undefined : latest + this.interval);
    if (next !== undefined) {
      this.#offsetSeconds += next - this.now();
      this.#next = undefined;
    }
    const now = this.now();
    // Blocks can come faster than one per second. A timestamp may repeat, but never decreases.
    return now > latest ? now : latest;
  }
}
