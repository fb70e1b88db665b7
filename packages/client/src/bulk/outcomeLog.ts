import type { ResultLine } from "@gas-waiver/protocol/wire";
import { encodeOutcome, type Journal } from "./journal.js";

/** Appends outcomes to a journal. Those that come while it writes share the next write. */
export class OutcomeLog {
  readonly #journal: Journal | undefined;
  #waiting: string;
  #writing: Promise<void> | undefined;

  /** @param isTorn ends the line that a crash has cut short, so that the next one stands alone. */
  constructor(journal: Journal | undefined, isTorn: boolean) {
    this.#journal = journal;
    this.#waiting = isTorn ? "\n" : "";
  }

  add(line: ResultLine): void {
    if (this.#journal === undefined) return;
    this.#waiting += encodeOutcome(line);
    this.#writing ??= this.#write(this.#journal);
    // `flush` throws the error. Until then it must not count as unhandled.
    this.#writing.catch(() => undefined);
  }

  /** Resolves when all outcomes are durable. @throws the error of the journal. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #write(journal: Journal): Promise<void> {
    while (this.#waiting !== "") {
      const lines = this.#waiting;
      this.#waiting = "";
      await journal.append(lines);
    }
    this.#writing = undefined;
  }
}
