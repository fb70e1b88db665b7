/** How long a service may say nothing while answers are due, until it is asked; and again until it counts as lost. */
const SILENCE_MS = 40_000;

/** Notices that the other side of a connection is gone without having said so. */
export class Silence {
  readonly #ask: () => void;
  readonly #lost: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: () => void, lost: () => void) {
    this.#ask = ask;
    this.#lost = lost;
  }

  /** Something came, or went out that will be answered. */
  break(): void {
    this.end();
    this.#timer = setTimeout(() => {
      this.#ask();
      this.#timer = setTimeout(this.#lost, SILENCE_MS);
    }, SILENCE_MS);
  }

  /** Nothing is due any more. */
  end(): void {
    clearTimeout(this.#timer);
  }
}
