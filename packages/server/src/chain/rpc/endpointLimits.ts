import type { BatchFit } from "./batchAnswer.js";
import { MAX_BATCH_CALLS } from "./rpcOutcome.js";

/** The bytes of a request's body, unless one call alone has more. Proxies and nodes refuse 1 to 5 MiB. */
export const MAX_REQUEST_BYTES = 524_288;
/** After this many answered requests at a lowered limit, a higher limit is tried. Each trial that fails doubles it. */
const MIN_TRIAL_AFTER = 16;
const MAX_TRIAL_AFTER = 65_536;
/** This many unclear answers in a row lower a limit that held so far. A single one is often an accident. */
const MAX_UNCLEAR = 2;

/** A limit that is halved when it is too high, and doubled again after a while. */
class LearntLimit {
  readonly #max: number;
  #value: number;
  #fits = 0;
  #trialAfter = MIN_TRIAL_AFTER;
  #isTrying = false;

  constructor(max: number) {
    this.#max = max;
    this.#value = max;
  }

  get value(): number {
    return this.#value;
  }

  /** Tells whether the limit was lowered and nothing has fitted it since. */
  get isFalling(): boolean {
    return this.#value < this.#max && this.#fits === 0 && !this.#isTrying;
  }

  /** A request of this size was too large. */
  lower(size: number): void {
    if (this.#isTrying) this.#trialAfter = Math.min(MAX_TRIAL_AFTER, 2 * this.#trialAfter);
    this.#isTrying = false;
    this.#fits = 0;
    this.#value = Math.max(1, Math.min(this.#value, Math.floor(size / 2)));
  }

  /** A request that had the size of the limit was answered. */
  fit(): void {
    if (this.#value === this.#max && !this.#isTrying) return;
    this.#fits++;
    if (this.#fits < this.#trialAfter) return;
    if (this.#isTrying) this.#trialAfter = MIN_TRIAL_AFTER;
    this.#isTrying = this.#value < this.#max;
    this.#fits = 0;
    this.#value = Math.min(this.#max, 2 * this.#value);
  }
}

/** A part of a list of calls, from `first` to `end` (exclusive), that goes in one request. */
export interface BatchPart {
  readonly first: number;
  readonly end: number;
  readonly bytes: number;
  /** The part ends because of the limit of calls or bytes; undefined if it ends with the list. */
  readonly boundBy: "calls" | "bytes" | undefined;
}

/** The calls and bytes that an endpoint takes in one request, as learnt from its answers. */
export class EndpointLimits {
  readonly #calls = new LearntLimit(MAX_BATCH_CALLS);
  readonly #bytes = new LearntLimit(MAX_REQUEST_BYTES);
  #unclearInARow = 0;

  /**
   * The longest part from `first` on that fits one request: at least one call.
   * @param sizes the bytes of each call.
   * @param mostCalls a bound of the caller's.
   */
  partFrom(sizes: readonly number[], first: number, mostCalls = Number.POSITIVE_INFINITY): BatchPart {
    let end = first;
    let bytes = 0;
    for (; end < sizes.length; end++) {
      const size = sizes[end] ?? 0;
      if (end - first >= this.#calls.value) return { first, end, bytes, boundBy: "calls" };
      if (end - first >= mostCalls) return { first, end, bytes, boundBy: undefined };
      if (end > first && bytes + size > this.#bytes.value) return { first, end, bytes, boundBy: "bytes" };
      bytes += size;
    }
    return { first, end, bytes, boundBy: end - first === this.#calls.value ? "calls" : undefined };
  }

  /**
   * Learns from an answer.
   * @param wasHealthy the endpoint had answered the request before. The limits learn nothing from an outage.
   */
  learn({ first, end, bytes, boundBy }: BatchPart, fit: BatchFit, wasHealthy: boolean): void {
    const calls = end - first;
    if (fit === "fits") {
      if (calls > 1) this.#unclearInARow = 0;
      if (boundBy === "calls") this.#calls.fit();
      if (boundBy === "bytes") this.#bytes.fit();
    }
    if (calls === 1) return;
    if (fit === "too many bytes") this.#bytes.lower(bytes);
    if (fit === "too many calls" || fit === "cut short") this.#calls.lower(calls);
    if (fit === "unclear" && wasHealthy) this.#countUnclear(calls);
  }

  #countUnclear(calls: number): void {
    this.#unclearInARow++;
    if (this.#unclearInARow < MAX_UNCLEAR && !this.#calls.isFalling) return;
    this.#unclearInARow = 0;
    this.#calls.lower(calls);
  }
}
