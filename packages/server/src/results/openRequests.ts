/** Counts the requests that wait for result lines. */
export class OpenRequests {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** @returns a function that ends the request; it may be called several times. */
  enter(): () => void {
    this.#count++;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#count--;
      if (this.#count > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
  }

  /** Resolves when no request is open. */
  async ended(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
