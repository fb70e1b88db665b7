import {
  bytesToHex,
  codeOf,
  type ErrorBody,
  LINE_CODES,
  type LineCode,
  ProtocolError,
  type Reason,
  type ResultLine,
  type Wait,
} from "@gas-waiver/protocol";
import type { Metrics } from "../model/metrics.js";
import type { ResolvedOptions } from "../model/options.js";
import { certaintyOf, REVERTED_MESSAGE, type Submission } from "../model/submission.js";
import type { Store } from "../store/store.js";
import { findSubmissions } from "../store/submissions/findSubmissions.js";
import { type Results, type SubmissionUpdate, updateOf } from "./results.js";

/** A transaction of a request: refused already, or a submission whose result is awaited. */
export type LineSource = { readonly index: number; readonly id: string } & (
  | { readonly error: ProtocolError }
  /** `earlier`: it was a submission before this request (D18), and may have its result already. */
  | { readonly innerHash: Uint8Array; readonly earlier: boolean }
);

export interface ResultLinesOptions {
  readonly store: Store;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly options: Pick<ResolvedOptions, "requestTimeoutMs">;
  readonly wait: Wait;
  /** Ends the waiting: the service shuts down. */
  readonly closing: AbortSignal;
}

/** The lines of one request, each as soon as it is known (D14). */
export interface ResultLines {
  /** Listens for news of these submissions from now on. */
  expect(ids: readonly string[]): void;
  /** Some of the request's transactions: one line for every entry. */
  add(entries: readonly LineSource[]): void;
  /** There are no more. */
  complete(): void;
  /** Of all entries, also of those that are added later. A consumer that leaves ends the listening, never the work (D19). */
  stream(): AsyncIterable<ResultLine>;
  cancel(): void;
}

/** Collects the lines of one request. */
export function awaitLines(request: ResultLinesOptions): ResultLines {
  return new RequestLines(request);
}

/** The lines of entries that are all there. */
export function linesOf(
  request: ResultLinesOptions,
  entries: readonly LineSource[],
): AsyncIterable<ResultLine> {
  const lines = awaitLines(request);
  lines.add(entries);
  lines.complete();
  return lines.stream();
}

class RequestLines implements ResultLines {
  readonly #request: ResultLinesOptions;
  readonly #startedAt = performance.now();
  readonly #heard = new Map<string, SubmissionUpdate>();
  readonly #unsubscribes: (() => void)[] = [];
  readonly #refused: RefusedSource[] = [];
  #waiting: AwaitedSource[] = [];
  #complete = false;
  #wakeUp: () => void = () => {};
  /** The consumer has gone. */
  #left = false;
  /** The deadline has come, or the service closes. */
  #over: boolean;

  constructor(request: ResultLinesOptions) {
    this.#request = request;
    this.#over = request.closing.aborted;
  }

  expect(ids: readonly string[]): void {
    if (ids.length === 0 || this.#left) return;
    const hear = (id: string, notice: SubmissionUpdate) => this.#hear(id, notice);
    this.#unsubscribes.push(this.#request.results.subscribe(ids, hear));
  }

  cancel(): void {
    this.#left = true;
    this.#wakeUp();
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }

  add(entries: readonly LineSource[]): void {
    const earlier: string[] = [];
    for (const entry of entries) {
      if ("error" in entry) {
        this.#refused.push(entry);
        continue;
      }
      this.#waiting.push(entry);
      if (entry.earlier) earlier.push(entry.id);
    }
    if (earlier.length > 0) {
      this.expect(earlier);
      // What cannot be looked up now is heard of, or looked up at the end.
      this.#lookUp(earlier).catch(() => {});
    }
    this.#wakeUp();
  }

  complete(): void {
    this.#complete = true;
    this.#wakeUp();
  }

  stream(): AsyncIterable<ResultLine> {
    const lines = this.#generate();
    const leave = lines.return.bind(lines);
    // A generator that was left before its first line runs no `finally`.
    lines.return = (value) => {
      this.cancel();
      return leave(value);
    };
    return lines;
  }

  #hear(id: string, notice: SubmissionUpdate): void {
    if (!isFinal(notice, this.#request.wait)) return;
    this.#heard.set(id, notice);
    this.#wakeUp();
  }

  async #lookUp(ids: readonly string[]): Promise<Submission[]> {
    const found = await findSubmissions(this.#request.store, ids);
    for (const submission of found) {
      const notice = updateOf(submission);
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

  /** The line is about to leave. */
  #told(line: ResultLine): ResultLine {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    this.#request.metrics.answered(line.success ? "OK" : line.error.code, seconds);
    return line;
  }

  async *#generate(): AsyncGenerator<ResultLine> {
    const unwatch = this.#watchTheEnd();
    try {
      while (!this.#left) {
        const refused = this.#refused.splice(0);
        for (const entry of refused) yield this.#told(refusedLine(entry, entry.error));
        const known = this.#takeKnown();
        for (const [entry, notice] of known) yield this.#told(resultLine(entry, notice, this.#request.wait));
        // More may have come while the consumer took those.
        if (refused.length + known.length > 0) continue;
        if (this.#waiting.length === 0 && this.#complete) return;
        if (this.#waiting.length > 0 && this.#over) yield* this.#timedOut();
        else await this.#news();
      }
    } finally {
      unwatch();
      this.cancel();
    }
  }

  #takeKnown(): [AwaitedSource, SubmissionUpdate][] {
    const known: [AwaitedSource, SubmissionUpdate][] = [];
    this.#waiting = this.#waiting.filter((entry) => {
      const notice = this.#heard.get(entry.id);
      if (notice) known.push([entry, notice]);
      return notice === undefined;
    });
    return known;
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  /** What is left when the time is over: by the record, what is known of it (D17). */
  async *#timedOut(): AsyncGenerator<ResultLine> {
    const late = this.#waiting.splice(0);
    const records = await this.#lookUp(late.map(({ id }) => id)).catch(() => []);
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const entry of late) {
      yield this.#told(timeoutLine(entry, byId.get(entry.id), this.#request));
    }
  }
}

type RefusedSource = Extract<LineSource, { error: ProtocolError }>;
type AwaitedSource = Extract<LineSource, { innerHash: Uint8Array }>;

/** Does this news end the waiting (D16)? */
function isFinal(notice: SubmissionUpdate, wait: Wait): boolean {
  return notice.state !== "broadcast" || wait === "broadcast";
}

function resultLine(entry: AwaitedSource, notice: SubmissionUpdate, wait: Wait): ResultLine {
  if (notice.state === "failed") return refusedLine(entry, new ProtocolError(notice.reason, notice.message));
  if (notice.state === "included" && notice.reverted && wait === "included") {
    return refusedLine(entry, new ProtocolError("REVERTED", REVERTED_MESSAGE));
  }
  return { index: entry.index, id: entry.id, success: true, txHash: bytesToHex(entry.innerHash) };
}

/** D17: the waiting ends, the work goes on; the reason says what is known of the chain's side. */
function timeoutLine(
  entry: AwaitedSource,
  record: Submission | undefined,
  { wait, options, closing }: ResultLinesOptions,
): ResultLine {
  const notice = record && updateOf(record);
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

function refusedLine({ index, id }: LineSource, error: ProtocolError): ResultLine {
  return { index, id, success: false, error: lineErrorOf(error) };
}

/** Why one transaction is refused, as a line says it. */
export function lineErrorOf({ reason, message }: ProtocolError): ErrorBody<LineCode> {
  return { code: lineCodeOf(reason), message, reason };
}

/** The codes that only a whole request can have never reach a line. */
function lineCodeOf(reason: Reason): LineCode {
  const code = codeOf(reason);
  const lineCode = LINE_CODES.find((known) => known === code);
  if (lineCode === undefined) throw new Error(`${reason} (${code}) cannot be the error of a line`);
  return lineCode;
}
