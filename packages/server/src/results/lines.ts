import type { ResultLine } from "@gas-waiver/protocol";
import type { Submission } from "../model/submission/submission.js";
import type { LineOutcome, Metrics } from "../model/telemetry/metrics.js";
import type { Store } from "../store/store.js";
import { findSubmissions } from "../store/submissions/findSubmissions.js";
import { chunk } from "../util/chunk.js";
import { onAbort } from "../util/onAbort.js";
import {
  type AwaitedSource,
  isFinal,
  type LineGroup,
  type LineSource,
  type RefusedSource,
  refusedLine,
  resultLine,
  timeoutLine,
  type WaitConditions,
} from "./resultLine.js";
import { type Results, type SubmissionUpdate, updateOf } from "./results.js";

export interface ResultLinesOptions extends WaitConditions {
  readonly store: Store;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly openRequests: OpenRequests;
  /** Makes so many lines when it is the turn of the request's party: one result may come to thousands of requests at once. */
  inTurn(lines: number, make: () => ResultLine[]): Promise<ResultLine[]>;
}

/** The largest group of lines. A client that does not read makes the service hold one for each request. */
const LINES_OF_GROUP = 100;

/** Yields the lines of transactions that are all known already. */
export function linesOf(
  request: ResultLinesOptions,
  entries: readonly LineSource[],
): AsyncIterable<LineGroup> {
  const lines = new ResultLines(request);
  lines.add(entries);
  lines.complete();
  return lines.stream();
}

/** The result lines of one request, each as soon as it is known (D14). */
export class ResultLines {
  readonly #request: ResultLinesOptions;
  readonly #startedAt = performance.now();
  readonly #leave: () => void;
  readonly #updates = new Map<string, SubmissionUpdate>();
  /** The submissions that have been broadcast while this request waits for more. */
  readonly #broadcast = new Set<string>();
  readonly #unsubscribes: (() => void)[] = [];
  readonly #refused: RefusedSource[] = [];
  #waiting: AwaitedSource[] = [];
  #complete = false;
  #wakeUp: () => void = () => {};
  /** The consumer has left the stream. */
  #hasLeft = false;
  /** The request has timed out, or the service shuts down. */
  #deadlinePassed: boolean;

  constructor(request: ResultLinesOptions) {
    this.#request = request;
    this.#deadlinePassed = request.closing.aborted;
    this.#leave = request.openRequests.enter();
  }

  /** Listens for updates of these submissions from now on. */
  expect(ids: readonly string[]): void {
    if (ids.length === 0 || this.#hasLeft) return;
    const onUpdate = (id: string, update: SubmissionUpdate) => this.#onUpdate(id, update);
    this.#unsubscribes.push(this.#request.results.subscribe(ids, onUpdate));
  }

  /** Ends the listening. */
  cancel(): void {
    this.#hasLeft = true;
    this.#wakeUp();
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
    this.#leave();
  }

  /** Adds some of the request's transactions. Each gets one line. */
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
      // Results that cannot be read now arrive as updates, or are read at the time-out.
      this.#lookUp(earlier).catch(() => {});
    }
    this.#wakeUp();
  }

  /** Marks the request as complete: nothing more is added. */
  complete(): void {
    this.#complete = true;
    this.#wakeUp();
  }

  /**
   * Yields the lines of all transactions, those that are added later too, and together those that are known at the same time.
   * A consumer that leaves ends the listening, never the work (D19).
   */
  stream(): AsyncIterable<LineGroup> {
    const lines = this.#generate();
    const leave = lines.return.bind(lines);
    // A generator whose consumer leaves before the first line does not run its `finally`.
    lines.return = (value) => {
      this.cancel();
      return leave(value);
    };
    return lines;
  }

  #onUpdate(id: string, update: SubmissionUpdate): void {
    if (!isFinal(update, this.#request.wait)) {
      this.#broadcast.add(id);
      return;
    }
    this.#updates.set(id, update);
    this.#wakeUp();
  }

  async #lookUp(ids: readonly string[]): Promise<Submission[]> {
    const found = await findSubmissions(this.#request.store, ids);
    for (const submission of found) {
      const update = updateOf(submission);
      if (update) this.#onUpdate(submission.id, update);
    }
    return found;
  }

  /**
   * Sets one timer and one listener for the whole request.
   * @returns a function that removes both.
   */
  #watchDeadline(): () => void {
    const { options, closing } = this.#request;
    const end = () => {
      this.#deadlinePassed = true;
      this.#wakeUp();
    };
    const timer = setTimeout(end, options.requestTimeoutMs);
    const ignoreClosing = onAbort(closing, end);
    return () => {
      clearTimeout(timer);
      ignoreClosing();
    };
  }

  /** Counts the lines, which are about to be sent. */
  *#groupsOf(lines: readonly ResultLine[]): Generator<LineGroup> {
    for (const group of chunk(lines, LINES_OF_GROUP)) {
      const seconds = (performance.now() - this.#startedAt) / 1_000;
      for (const line of group) this.#request.metrics.answered(countedAs(line), seconds);
      yield group;
    }
  }

  async *#generate(): AsyncGenerator<LineGroup> {
    const unwatch = this.#watchDeadline();
    try {
      while (!this.#hasLeft) {
        const refused = this.#refused.splice(0);
        const known = this.#takeKnown();
        if (refused.length + known.length > 0) {
          const lines = await this.#request.inTurn(refused.length + known.length, () => [
            ...refused.map((entry) => refusedLine(entry, entry.error)),
            ...known.map(([entry, update]) => resultLine(entry, update, this.#request.wait)),
          ]);
          for (const group of this.#groupsOf(lines)) yield group;
          continue;
        }
        // More results may have arrived while the consumer took the lines before. Nothing may be awaited between the last look and
        // the wait, or an update in between would be missed.
        if (this.#waiting.length === 0 && this.#complete) return;
        if (this.#waiting.length > 0 && this.#deadlinePassed) yield* this.#timedOut();
        else await this.#nextUpdate();
      }
    } finally {
      unwatch();
      this.cancel();
    }
  }

  #takeKnown(): [AwaitedSource, SubmissionUpdate][] {
    const known: [AwaitedSource, SubmissionUpdate][] = [];
    this.#waiting = this.#waiting.filter((entry) => {
      const update = this.#updates.get(entry.id);
      if (update) known.push([entry, update]);
      return update === undefined;
    });
    return known;
  }

  #nextUpdate(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  /** Yields the lines of the submissions without a result at the time-out, from their stored records (D17). */
  async *#timedOut(): AsyncGenerator<LineGroup> {
    const overdue = this.#waiting.splice(0);
    const records = await this.#lookUp(overdue.map(({ id }) => id)).catch(() => []);
    const byId = new Map(records.map((record) => [record.id, record]));
    const lines = overdue.map((entry) =>
      timeoutLine(entry, this.#withBroadcast(byId.get(entry.id)), this.#request),
    );
    for (const group of this.#groupsOf(lines)) yield group;
  }

  /** The store may learn of a broadcast later than the lines do. */
  #withBroadcast(record: Submission | undefined): Submission | undefined {
    return record?.state === "signed" && this.#broadcast.has(record.id)
      ? { ...record, state: "broadcast" }
      : record;
  }
}

/** A user's own contract makes a transaction revert, and nothing of the service fails with it. */
function countedAs(line: ResultLine): LineOutcome {
  if (line.success) return "OK";
  return line.error.reason === "REVERTED" ? "REVERTED" : line.error.code;
}

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
