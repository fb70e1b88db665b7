import {
  bytesToHex,
  codeOf,
  LINE_CODES,
  type LineCode,
  ProtocolError,
  type Reason,
  type ResultLine,
  type Wait,
} from "@gas-waiver/protocol";
import type { Metrics } from "./metrics.js";
import type { ResolvedOptions } from "./options.js";
import { type Notice, noticeOf, type Results } from "./results.js";
import { findSubmissions } from "./store/lookup.js";
import type { Store } from "./store/Store.js";
import { certaintyOf, REVERTED_MESSAGE, type Submission } from "./submission.js";

/** A transaction of a request: refused already, or a submission whose result is awaited. */
export type Entry = { readonly index: number; readonly id: string } & (
  | { readonly error: ProtocolError }
  /** `earlier`: it was a submission before this request (D18), and may have its result already. */
  | { readonly innerHash: Uint8Array; readonly earlier: boolean }
);

export interface LinesOptions {
  readonly store: Store;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly options: Pick<ResolvedOptions, "requestTimeoutMs">;
  readonly wait: Wait;
  /** Ends the waiting: the service shuts down. */
  readonly closing: AbortSignal;
}

/** The lines of one request, each as soon as it is known (D14). */
export interface Lines {
  /** Listens for news of these submissions from now on. */
  expect(ids: readonly string[]): void;
  /** One line for every entry. A consumer that leaves ends the listening, never the work (D19). */
  stream(entries: readonly Entry[]): AsyncIterable<ResultLine>;
  cancel(): void;
}

/** Collects the lines of one request. */
export function awaitLines(request: LinesOptions): Lines {
  return new RequestLines(request);
}

class RequestLines implements Lines {
  readonly #request: LinesOptions;
  readonly #startedAt = performance.now();
  readonly #heard = new Map<string, Notice>();
  readonly #unsubscribes: (() => void)[] = [];
  #wakeUp: () => void = () => {};
  /** The consumer has gone. */
  #left = false;
  /** The deadline has come, or the service closes. */
  #over: boolean;

  constructor(request: LinesOptions) {
    this.#request = request;
    this.#over = request.closing.aborted;
  }

  expect(ids: readonly string[]): void {
    if (ids.length === 0) return;
    const hear = (id: string, notice: Notice) => this.#hear(id, notice);
    this.#unsubscribes.push(this.#request.results.subscribe(ids, hear));
  }

  cancel(): void {
    this.#left = true;
    this.#wakeUp();
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }

  stream(entries: readonly Entry[]): AsyncIterable<ResultLine> {
    const lines = this.#count(this.#generate(entries));
    const leave = lines.return.bind(lines);
    // A generator that was left before its first line runs no `finally`.
    lines.return = (value) => {
      this.cancel();
      return leave(value);
    };
    return lines;
  }

  #hear(id: string, notice: Notice): void {
    if (!isFinal(notice, this.#request.wait)) return;
    this.#heard.set(id, notice);
    this.#wakeUp();
  }

  async #lookUp(ids: readonly string[]): Promise<Submission[]> {
    const found = await findSubmissions(this.#request.store, ids);
    for (const submission of found) {
      const notice = noticeOf(submission);
      if (notice) this.#hear(submission.id, notice);
    }
    return found;
  }

  /** One timer and one listener for the whole request. @returns what takes both away. */
  #watchTheEnd(): () => void {
    const { options, closing } = this.#request;
    const end = () => {
      this.#over = true;
      this.#wakeUp();
    };
    const timer = setTimeout(end, options.requestTimeoutMs);
    closing.addEventListener("abort", end);
    return () => {
      clearTimeout(timer);
      closing.removeEventListener("abort", end);
    };
  }

  async *#count(lines: AsyncGenerator<ResultLine>): AsyncGenerator<ResultLine> {
    for await (const line of lines) {
      const seconds = (performance.now() - this.#startedAt) / 1_000;
      this.#request.metrics.answered(line.success ? "OK" : line.error.code, seconds);
      yield line;
    }
  }

  async *#generate(entries: readonly Entry[]): AsyncGenerator<ResultLine> {
    const unwatch = this.#watchTheEnd();
    try {
      const waiting: Waiting[] = [];
      for (const entry of entries) {
        if ("error" in entry) yield refusedLine(entry, entry.error);
        else waiting.push(entry);
      }
      const earlier = waiting.filter((entry) => entry.earlier).map(({ id }) => id);
      this.expect(earlier);
      if (earlier.length > 0) await this.#lookUp(earlier).catch(() => {});
      yield* this.#asKnown(waiting);
      yield* this.#timedOut(waiting);
    } finally {
      unwatch();
      this.cancel();
    }
  }

  /** Yields what becomes known and takes it out of `waiting`, until nothing is left or the time is over. */
  async *#asKnown(waiting: Waiting[]): AsyncGenerator<ResultLine> {
    while (waiting.length > 0) {
      const known = waiting.filter(({ id }) => this.#heard.has(id));
      waiting.splice(0, waiting.length, ...waiting.filter(({ id }) => !this.#heard.has(id)));
      for (const entry of known) {
        const notice = this.#heard.get(entry.id);
        if (notice) yield resultLine(entry, notice, this.#request.wait);
      }
      // More may have been heard while the consumer took those.
      if (waiting.some(({ id }) => this.#heard.has(id))) continue;
      if (this.#left || this.#over || waiting.length === 0) return;
      await new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
    }
  }

  /** What is left when the time is over: by the record, what is known of it (D17). */
  async *#timedOut(waiting: readonly Waiting[]): AsyncGenerator<ResultLine> {
    if (waiting.length === 0 || this.#left) return;
    const records = await this.#lookUp(waiting.map(({ id }) => id)).catch(() => []);
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const entry of waiting) yield timeoutLine(entry, byId.get(entry.id), this.#request);
  }
}

type Waiting = Extract<Entry, { innerHash: Uint8Array }>;

/** Does this news end the waiting (D16)? */
function isFinal(notice: Notice, wait: Wait): boolean {
  return notice.state !== "broadcast" || wait === "broadcast";
}

function resultLine(entry: Waiting, notice: Notice, wait: Wait): ResultLine {
  if (notice.state === "failed") return refusedLine(entry, new ProtocolError(notice.reason, notice.message));
  if (notice.state === "included" && notice.reverted && wait === "included") {
    return refusedLine(entry, new ProtocolError("REVERTED", REVERTED_MESSAGE));
  }
  return { index: entry.index, id: entry.id, success: true, txHash: bytesToHex(entry.innerHash) };
}

/** D17: the waiting ends, the work goes on; the reason says what is known of the chain's side. */
function timeoutLine(
  entry: Waiting,
  record: Submission | undefined,
  { wait, options, closing }: LinesOptions,
): ResultLine {
  const notice = record && noticeOf(record);
  if (notice && isFinal(notice, wait)) return resultLine(entry, notice, wait);
  const why = closing.aborted
    ? "the service is shutting down"
    : `no result within ${options.requestTimeoutMs} ms`;
  const certainty = record ? certaintyOf(record) : "unknown";
  const reasons = {
    not_broadcast: "NOT_BROADCAST",
    broadcast: "NOT_INCLUDED",
    unknown: "OUTCOME_UNKNOWN",
  } as const;
  const knowledge = {
    not_broadcast: "it has not been broadcast",
    broadcast: "it has been broadcast and is in no block yet",
    unknown: "it may have been broadcast",
  }[certainty];
  const message = `${why}: ${knowledge}; the submission goes on, ask for it by its id`;
  return refusedLine(entry, new ProtocolError(reasons[certainty], message));
}

function refusedLine({ index, id }: Entry, { reason, message }: ProtocolError): ResultLine {
  return { index, id, success: false, error: { code: lineCodeOf(reason), message, reason } };
}

/** The codes that only a whole request can have never reach a line. */
function lineCodeOf(reason: Reason): LineCode {
  const code = codeOf(reason);
  const lineCode = LINE_CODES.find((known) => known === code);
  if (lineCode === undefined) throw new Error(`${reason} (${code}) cannot be the error of a line`);
  return lineCode;
}
