import { MAX_BATCH_CALLS } from "./rpcOutcome.js";

/** The bytes of a request's body, unless one call alone has more. Proxies and nodes refuse 1 to 5 MiB. */
export const MAX_REQUEST_BYTES = 524_288;
/** After this many answered requests at a lowered limit, a higher limit is tried. Each trial that fails doubles it. */
const MIN_TRIAL_AFTER = 16;
const MAX_TRIAL_AFTER = 65_536;

/** A limit that is halved when it is too high, and doubled again after a while. */
class LearntLimit {
  #value: number;
  #fits = 0;
  #trialAfter = MIN_TRIAL_AFTER;
  #isTrying = false;

  constructor(readonly max: number) {
    this.#value = max;
  }

  get value(): number {
    return this.#value;
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
    if (this.#value === this.max && !this.#isTrying) return;
    this.#fits++;
    if (this.#fits < this.#trialAfter) return;
    if (this.#isTrying) this.#trialAfter = MIN_TRIAL_AFTER;
    this.#isTrying = this.#value < this.max;
    this.#fits = 0;
    this.#value = Math.min(this.max, 2 * this.#value);
  }
}

/** The size of a request. */
export interface RequestSize {
  readonly calls: number;
  readonly bytes: number;
}

/** The calls and bytes that an endpoint takes in one request, as learnt from its answers. */
export class EndpointLimits {
  readonly #calls = new LearntLimit(MAX_BATCH_CALLS);
  readonly #bytes = new LearntLimit(MAX_REQUEST_BYTES);

  /** Tells the limit that keeps this request from one more call; undefined if it has room. */
  boundOf(request: RequestSize, nextBytes: number): "calls" | "bytes" | undefined {
    if (request.calls >= this.#calls.value) return "calls";
    return request.calls > 0 && request.bytes + nextBytes > this.#bytes.value ? "bytes" : undefined;
  }

  /** A request that had the size of a limit was answered. */
  fit(bound: "calls" | "bytes"): void {
    if (bound === "calls") this.#calls.fit();
    else this.#bytes.fit();
  }

  /**
   * A request failed whole, and its calls were answered in smaller ones: it had too many calls or too many bytes, whichever
   * came closer to the most that there ever are in one.
   */
  lower({ calls, bytes }: RequestSize): void {
    if (calls / this.#calls.max >= bytes / this.#bytes.max) this.#calls.lower(calls);
    else this.#bytes.lower(bytes);
  }
}
