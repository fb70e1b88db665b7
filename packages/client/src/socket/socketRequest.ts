import type { ResultLine, Wait } from "@gas-waiver/protocol/wire";

/**
 * The state of one transaction of a request:
 *
 *     submit ──► sent ──► held ──► (answered, and no longer here)
 *        ▲        │ │       │
 *        │        │ └───────┼────► (answered)
 *        └────────┤◄─ watch ◄┘
 *
 * - `submit`: to be sent, again if the connection broke before anything was known (D18 makes that safe).
 * - `sent`: in a frame of this connection that is not answered.
 * - `held`: its line is a time-out (D17). The line counts only once a probe shows that the service is not shutting down.
 * - `watch`: its submission's id is known; the client asks for its line by the id. A call of `watch` begins here, with the
 *   names that its caller gave.
 */
type TransactionState =
  | { readonly at: "submit" }
  | { readonly at: "sent"; readonly id?: string }
  | { readonly at: "held"; readonly line: ResultLine }
  | { readonly at: "watch"; readonly id: string };

/** The content of one frame: positions in the request, and the frame's value for each (a transaction or an id). */
export interface FramePart {
  readonly kind: "transactions" | "watch";
  readonly indexes: readonly number[];
  readonly values: readonly string[];
}

/** The transactions of a call of `submit`, or the ids and hashes of one of `watch`. */
export type RequestedLines =
  | { readonly transactions: readonly string[] }
  | { readonly watch: readonly string[] };

/** Tracks the lines of one call of `submit` or `watch` across connections. */
export class SocketRequest {
  readonly wait: Wait | undefined;
  /** Whether any part was sent: from then on the service may have accepted transactions. */
  wasSent = false;
  readonly #requested: RequestedLines;
  readonly #pending: Map<number, TransactionState>;
  readonly #lines: ResultLine[] = [];
  #error: { readonly thrown: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(requested: RequestedLines, wait: Wait | undefined) {
    this.#requested = requested;
    this.wait = wait;
    const states: readonly TransactionState[] =
      "watch" in requested
        ? requested.watch.map((id) => ({ at: "watch", id }))
        : requested.transactions.map(() => ({ at: "submit" }));
    this.#pending = new Map(states.map((state, index) => [index, state]));
  }

  /** Yields each line once. Ends after the last one, or throws the error that the request failed with. */
  async *lines(): AsyncGenerator<ResultLine, void, undefined> {
    for (;;) {
      for (let line = this.#lines.shift(); line; line = this.#lines.shift()) yield line;
      if (this.#error) throw this.#error.thrown;
      if (this.#pending.size === 0) return;
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

  /** Returns the frames to send now, and marks their transactions as sent. */
  takeParts(): FramePart[] {
    const submit: number[] = [];
    const watch: [number, string][] = [];
    for (const [index, state] of this.#pending) {
      if (state.at === "submit") submit.push(index);
      if (state.at === "watch") watch.push([index, state.id]);
    }
    for (const index of submit) this.#pending.set(index, { at: "sent" });
    for (const [index, id] of watch) this.#pending.set(index, { at: "sent", id });
    const { transactions } = { transactions: [], ...this.#requested };
    const values = submit.map((index) => transactions[index] ?? "");
    const parts: FramePart[] = [
      { kind: "transactions", indexes: submit, values },
      { kind: "watch", indexes: watch.map(([index]) => index), values: watch.map(([, id]) => id) },
    ];
    return parts.filter(({ indexes }) => indexes.length > 0);
  }

  /** The positions without a line. */
  get unanswered(): Iterable<number> {
    return this.#pending.keys();
  }

  get hasSomethingToSend(): boolean {
    if (this.#error) return false;
    return [...this.#pending.values()].some(({ at }) => at === "submit" || at === "watch");
  }

  /** Takes in a line. Returns false if no transaction of that index is waiting for one. */
  receive(line: ResultLine): boolean {
    const state = this.#pending.get(line.index);
    if (state?.at !== "sent") return false;
    if (line.success || line.error.code !== "TIMEOUT") {
      const isUnknown = !line.success && line.error.reason === "UNKNOWN_SUBMISSION";
      // The transaction is at hand, and was lost on the way. A name that was only watched has none.
      if (isUnknown && state.id !== undefined && "transactions" in this.#requested)
        this.#pending.set(line.index, { at: "submit" });
      else this.#answer(line);
    } else {
      this.#pending.set(line.index, { at: "held", line });
    }
    return true;
  }

  /** Tells whether any of these was sent and has no line. */
  hasUnanswered(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.#pending.get(index)?.at === "sent");
  }

  /** Tells whether any of these has a time-out that a probe must confirm. */
  hasHeld(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.#pending.get(index)?.at === "held");
  }

  /** Passes the held time-outs on to the caller, after a probe has confirmed them. */
  releaseHeld(indexes: readonly number[]): void {
    for (const index of indexes) {
      const state = this.#pending.get(index);
      if (state?.at === "held") this.#answer(state.line);
    }
  }

  /** Queues these again: the service has not taken them, or the answer was lost. */
  requeue(indexes: Iterable<number> = this.#pending.keys()): void {
    for (const index of [...indexes]) {
      const state = this.#pending.get(index);
      if (state?.at === "held")
        this.#pending.set(index, { at: "watch", id: this.#nameOf(index) ?? state.line.id });
      if (state?.at === "sent") {
        const { id } = state;
        this.#pending.set(index, id === undefined ? { at: "submit" } : { at: "watch", id });
      }
    }
  }

  /** The name that the caller of `watch` gave: a publishable key names by hash alone (D32). */
  #nameOf(index: number): string | undefined {
    return "watch" in this.#requested ? this.#requested.watch[index] : undefined;
  }

  #answer(line: ResultLine): void {
    this.#pending.delete(line.index);
    this.#lines.push(line);
    this.#wake();
  }
}
