import type { BatchFit } from "./batchAnswer.js";
import type { BatchPart, EndpointLimits } from "./endpointLimits.js";

interface RefusedPart extends BatchPart {
  readonly limits: EndpointLimits;
}

/**
 * Cuts a list of calls into the parts that go in one request each. After a refusal for its bytes, a part is halved. A proxy
 * may refuse a request because of one call, by a rule of its own and whatever its size. So an endpoint's limit follows from a
 * refusal only when all calls of that part were answered in smaller ones. Where one is refused alone, it was the cause:
 * no limit is learnt, and the parts behind it grow again from one call.
 */
export class ListParts {
  readonly #sizes: readonly number[];
  readonly #together: boolean;
  #mostCalls = Number.POSITIVE_INFINITY;
  #refused: RefusedPart[] = [];

  /**
   * @param sizes the bytes of each call.
   * @param options `together`: the list goes in one request or not at all, so a refusal is learnt at once.
   */
  constructor(sizes: readonly number[], { together = false }: { readonly together?: boolean } = {}) {
    this.#sizes = sizes;
    this.#together = together;
  }

  /** The next part, from the call `first` on, for an endpoint with these limits. */
  partFrom(limits: EndpointLimits, first: number): BatchPart {
    return limits.partFrom(this.#sizes, first, this.#mostCalls);
  }

  /**
   * Takes note of the answer to a part.
   * @param wasHealthy see {@link EndpointLimits.learn}.
   */
  onAnswer(limits: EndpointLimits, part: BatchPart, fit: BatchFit, wasHealthy: boolean): void {
    const calls = part.end - part.first;
    if (fit !== "too many bytes" || this.#together) {
      limits.learn(part, fit, wasHealthy);
      if (fit === "fits") this.#onFit(part.end, calls);
    } else if (calls > 1) {
      this.#refused.push({ ...part, limits });
      this.#mostCalls = Math.floor(calls / 2);
    } else {
      this.#refused = this.#refused.filter(({ end }) => end <= part.first);
      this.#mostCalls = 1;
    }
  }

  #onFit(end: number, calls: number): void {
    const answered = this.#refused.filter((refused) => refused.end <= end);
    for (const { limits, ...refused } of answered) limits.learn(refused, "too many bytes", true);
    this.#refused = this.#refused.filter((refused) => refused.end > end);
    if (this.#refused.length === 0 && calls >= this.#mostCalls) this.#mostCalls *= 2;
  }
}
