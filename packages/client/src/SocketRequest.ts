import type { ResultLine, Wait } from "@gas-waiver/protocol/wire";

/**
 * Where one transaction of a request stands:
 *
 *     submit ──► sent ──► held ──► (answered, and no longer here)
 *        ▲        │ │       │
 *        │        │ └───────┼────► (answered)
 *        └────────┤◄─ watch ◄┘
 *
 * - `submit`: to be sent, again if the connection broke before anything was known (D18 makes that safe).
 * - `sent`: part of a frame of this connection.
 * - `held`: the service has ended its waiting (D17). That counts only if the service is not just shutting down.
 * - `watch`: its submission's id is known, and its line is to be asked for by that.
 */
type Standing =
  | { readonly at: "submit" }
  | { readonly at: "sent"; readonly id?: string }
  | { readonly at: "held"; readonly line: ResultLine }
  | { readonly at: "watch"; readonly id: string };

/** What to put into a frame: positions in the request, and what the frame says of each. */
export interface Part {
  readonly kind: "transactions" | "watch";
  readonly indexes: readonly number[];
  readonly values: readonly string[];
}

/** The transactions of one call of `submit`, over however many connections it takes. */
export class SocketRequest {
  readonly wait: Wait | undefined;
  /** It was sent once, so the caller counts on it. */
  wasSent = false;
  readonly #transactions: readonly string[];
  readonly #open: Map<number, Standing>;
  readonly #lines: ResultLine[] = [];
  #error: { readonly thrown: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(transactions: readonly string[], wait: Wait | undefined) {
    this.#transactions = transactions;
    this.wait = wait;
    this.#open = new Map(transactions.map((_, index) => [index, { at: "submit" }]));
  }

  /** The lines to give to the caller, each once; ends with the last, or throws what the request failed with. */
  async *lines(): AsyncGenerator<ResultLine, void, undefined> {
    for (;;) {
      for (let line = this.#lines.shift(); line; line = this.#lines.shift()) yield line;
      if (this.#error) throw this.#error.thrown;
      if (this.#open.size === 0) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  fail(thrown: unknown): void {
    this.#error ??= { thrown };
    this.#wake();
  }

  get failed(): boolean {
    return this.#error !== undefined;
  }

  /** What is to be sent now, marked as sent. */
  send(): Part[] {
    const submit: number[] = [];
    const watch: [number, string][] = [];
    for (const [index, standing] of this.#open) {
      if (standing.at === "submit") submit.push(index);
      if (standing.at === "watch") watch.push([index, standing.id]);
    }
    for (const index of submit) this.#open.set(index, { at: "sent" });
    for (const [index, id] of watch) this.#open.set(index, { at: "sent", id });
    const values = submit.map((index) => this.#transactions[index] ?? "");
    const parts: Part[] = [
      { kind: "transactions", indexes: submit, values },
      { kind: "watch", indexes: watch.map(([index]) => index), values: watch.map(([, id]) => id) },
    ];
    return parts.filter(({ indexes }) => indexes.length > 0);
  }

  get hasSomethingToSend(): boolean {
    if (this.#error) return false;
    return [...this.#open.values()].some(({ at }) => at === "submit" || at === "watch");
  }

  /** A line for a transaction that was sent. False if that was none. */
  hear(line: ResultLine): boolean {
    const standing = this.#open.get(line.index);
    if (standing?.at !== "sent") return false;
    if (line.success || line.error.code !== "TIMEOUT") {
      const isLost = !line.success && line.error.reason === "UNKNOWN_SUBMISSION" && standing.id !== undefined;
      if (isLost) this.#open.set(line.index, { at: "submit" });
      else this.#answer(line);
    } else {
      this.#open.set(line.index, { at: "held", line });
    }
    return true;
  }

  /** Of these, is any still without a line? */
  awaits(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.#open.get(index)?.at === "sent");
  }

  /** Of these, does any wait for proof that the service goes on? */
  holds(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.#open.get(index)?.at === "held");
  }

  /** The service goes on: its time-outs are what they say. */
  release(indexes: readonly number[]): void {
    for (const index of indexes) {
      const standing = this.#open.get(index);
      if (standing?.at === "held") this.#answer(standing.line);
    }
  }

  /** These were not taken, or nobody knows. */
  takeBack(indexes: Iterable<number> = this.#open.keys()): void {
    for (const index of [...indexes]) {
      const standing = this.#open.get(index);
      if (standing?.at === "held") this.#open.set(index, { at: "watch", id: standing.line.id });
      if (standing?.at === "sent") {
        const { id } = standing;
        this.#open.set(index, id === undefined ? { at: "submit" } : { at: "watch", id });
      }
    }
  }

  #answer(line: ResultLine): void {
    this.#open.delete(line.index);
    this.#lines.push(line);
    this.#wake();
  }
}
