/**
 * While answers are due, the connection is probed after this silence, and counts as lost after the same silence again.
 */
const SILENCE_LIMIT_MS = 40_000;

/**
 * Notices that the other side of a connection is gone without having closed it. A connection that is silent while answers
 * are due is probed, and counts as lost when the probe is not answered either.
 */
export class Heartbeat {
  readonly #probe: () => void;
  readonly #onLost: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(probe: () => void, onLost: () => void) {
    this.#probe = probe;
    this.#onLost = onLost;
  }

  /** Starts the silence anew: a frame came, or one that will be answered was sent. */
  reset(): void {
    this.stop();
    this.#timer = setTimeout(() => {
      this.#probe();
      this.#timer = setTimeout(this.#onLost, SILENCE_LIMIT_MS);
    }, SILENCE_LIMIT_MS);
  }

  /** Stops watching: no answer is due any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
