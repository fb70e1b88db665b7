/** Counts the requests of each address in windows of time, and refuses those above a limit. */
export class RequestLimit {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, { readonly end: number; count: number }>();

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /**
   * Counts a request.
   * @param now in ms, by any clock.
   * @returns the seconds until the address may ask again, or undefined if the request is within the limit.
   */
  take(address: string, now: number): number | undefined {
    let window = this.#windows.get(address);
    if (window === undefined || window.end <= now) {
      window = { end: now + this.#windowMs, count: 0 };
      this.#windows.set(address, window);
    }
    window.count++;
    return window.count <= this.#limit ? undefined : Math.ceil((window.end - now) / 1_000);
  }
}
