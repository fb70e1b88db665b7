import { real } from "./realTime.js";

const turn = () => new Promise<void>((resolve) => void real.setImmediate(resolve));

/**
 * Knows whether anything in the process still runs: statements in PostgreSQL, reading of files, immediates. Virtual time moves only
 * while nothing does.
 */
export class Activity {
  #outstanding = 0;
  #immediates = 0;
  #changes = 0;
  #waiting: (() => void) | undefined;

  /** Counts work of the real world, such as a statement, until its promise has settled. */
  async count<T>(work: Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work;
    } finally {
      this.end();
    }
  }

  begin(): void {
    this.#outstanding++;
  }

  end(): void {
    this.#outstanding--;
    this.changed();
  }

  /** Something ran, and may have begun more. */
  changed(): void {
    this.#changes++;
    this.#waiting?.();
    this.#waiting = undefined;
  }

  immediateSet(): void {
    this.#immediates++;
  }

  immediateGone(): void {
    this.#immediates--;
    this.#changes++;
  }

  /** Resolves when nothing runs any more: a turn of the event loop, which runs all that was ready, has brought nothing new. */
  async settled(): Promise<void> {
    for (;;) {
      if (this.#outstanding > 0) {
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
        continue;
      }
      const before = this.#changes;
      await turn();
      if (this.#outstanding === 0 && this.#immediates === 0 && this.#changes === before) return;
    }
  }
}
