import { RefusedError } from "../pool/refusedError.js";

/** What of the clock a snapshot keeps. */
export interface ClockSetting {
  readonly offsetSeconds: bigint;
  readonly next: bigint | undefined;
}

/** Where blocks get their timestamps from: the system's clock, which a test may set forward. */
export class Clock {
  readonly #now: () => number;
  #offsetSeconds = 0n;
  #next: bigint | undefined;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** In seconds since 1970. */
  now(): bigint {
    return BigInt(Math.floor(this.#now() / 1000)) + this.#offsetSeconds;
  }

  get setting(): ClockSetting {
    return { offsetSeconds: this.#offsetSeconds, next: this.#next };
  }

  /** Time goes on from the present again; only how far it had been moved comes back. */
  restore({ offsetSeconds, next }: ClockSetting): void {
    this.#offsetSeconds = offsetSeconds;
    this.#next = next;
  }

  /** @returns by how many seconds the clock is ahead of the system's now. */
  increase(seconds: bigint): bigint {
    this.#offsetSeconds += seconds;
    return this.#offsetSeconds;
  }

  /**
   * The next block's timestamp, exactly; time goes on from there.
   * @throws {@link RefusedError} for a time before the latest block's.
   */
  setNext(seconds: bigint, latest: bigint): void {
    if (seconds < latest) {
      throw new RefusedError(
        "TIMESTAMP_IN_THE_PAST",
        `timestamp ${seconds} is before the latest block's, ${latest}`,
        { timestamp: seconds.toString(), latest: latest.toString() },
      );
    }
    this.#next = seconds;
  }

  /** The timestamp of the block after one of time `latest`. It is taken: the block after that gets another. */
  take(latest: bigint): bigint {
    if (this.#next !== undefined) {
      this.#offsetSeconds += this.#next - this.now();
      this.#next = undefined;
    }
    const now = this.now();
    // Blocks may come faster than seconds pass: a timestamp repeats then, and never goes back.
    return now > latest ? now : latest;
  }
}
