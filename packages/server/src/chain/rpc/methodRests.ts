interface Rest {
  /** In ms of a monotonic clock. */
  readonly until: number;
  readonly ms: number;
}

const MIN_REST_MS = 1_000;
const MAX_REST_MS = 30_000;
/** A setting of the node, such as its least price, is not changed more often. */
const DECLINED_MS = 600_000;

/**
 * The methods that one endpoint did not serve while another did. Such a method rests for 1 to 30 s, twice as long each time:
 * until then the other endpoint is asked first, so that a lasting fault does not cost two requests for each read.
 */
export class MethodRests {
  readonly #rests = new Map<string, Rest>();

  rests(method: string, now: number): boolean {
    return (this.#rests.get(method)?.until ?? 0) > now;
  }

  /** Reads that fail at the same time count once. */
  onFailed(method: string, now: number): void {
    if (this.rests(method, now)) return;
    const ms = Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, 2 * (this.#rests.get(method)?.ms ?? 0)));
    this.#rests.set(method, { ms, until: now + ms });
  }

  /** The endpoint takes nothing by this method, and another one does. */
  onDeclined(method: string, now: number): void {
    this.#rests.set(method, { ms: DECLINED_MS, until: now + DECLINED_MS });
  }

  onServed(method: string): void {
    this.#rests.delete(method);
  }
}
