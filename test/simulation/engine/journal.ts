import { createHash } from "node:crypto";

/** The record of everything that a world did, which a repetition must equal. */
export class Journal {
  readonly #hash = createHash("sha256");
  readonly #lines: string[] | undefined;

  /** @param isKept whether the lines are kept to be read, and not only their digest. */
  constructor(isKept: boolean) {
    this.#lines = isKept ? [] : undefined;
  }

  note(line: string): void {
    this.#hash.update(line).update("\n");
    this.#lines?.push(line);
  }

  get lines(): readonly string[] {
    return this.#lines ?? [];
  }

  /** A digest of the lines so far. */
  digest(): string {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }
}
