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
  const { store, results, metrics, options, wait, closing } = request;
  const heard = new Map<string, Notice>();
  const unsubscribes: (() => void)[] = [];
  let wakeUp: () => void = () => {};
  const hear = (id: string, notice: Notice) => {
    if (isFinal(notice, wait)) {
      heard.set(id, notice);
      wakeUp();
    }
  };
  const expect = (ids: readonly string[]) => {
    if (ids.length > 0) unsubscribes.push(results.subscribe(ids, hear));
  };
  let left = false;
  const cancel = () => {
    left = true;
    wakeUp();
    for (const unsubscribe of unsubscribes.splice(0)) unsubscribe();
  };
  const lookUp = async (ids: readonly string[]) => {
    const found = await findSubmissions(store, ids);
    for (const submission of found) {
      const notice = noticeOf(submission);
      if (notice) hear(submission.id, notice);
    }
    return found;
  };
  /** The deadline has come, or the service closes. */
  let over = closing.aborted;
  /** One timer and one listener for the whole request. @returns what takes both away. */
  const watch = (timeoutMs: number) => {
    const end = () => {
      over = true;
      wakeUp();
    };
    const timer = setTimeout(end, timeoutMs);
    closing.addEventListener("abort", end);
    return () => {
      clearTimeout(timer);
      closing.removeEventListener("abort", end);
    };
  };
  /** Resolves with news, at the deadline, or when the service closes. */
  const news = () =>
    new Promise<void>((resolve) => {
      wakeUp = resolve;
    });

  const startedAt = performance.now();
  async function* counted(lines: AsyncGenerator<ResultLine>): AsyncGenerator<ResultLine> {
    for await (const line of lines) {
      metrics.answered(line.success ? "OK" : line.error.code, (performance.now() - startedAt) / 1_000);
      yield line;
    }
  }
  async function* generate(entries: readonly Entry[]): AsyncGenerator<ResultLine> {
    const unwatch = watch(options.requestTimeoutMs);
    try {
      let waiting: Waiting[] = [];
      for (const entry of entries) {
        if ("error" in entry) yield refusedLine(entry, entry.error);
        else waiting.push(entry);
      }
      const earlier = waiting.filter((entry) => entry.earlier).map(({ id }) => id);
      expect(earlier);
      if (earlier.length > 0) await lookUp(earlier).catch(() => {});
      while (waiting.length > 0) {
        const known = waiting.filter(({ id }) => heard.has(id));
        waiting = waiting.filter(({ id }) => !heard.has(id));
        for (const entry of known) {
          const notice = heard.get(entry.id);
          if (notice) yield resultLine(entry, notice, wait);
        }
        if (waiting.some(({ id }) => heard.has(id))) continue;
        if (left) return;
        if (over) break;
        if (waiting.length > 0) await news();
      }
      if (waiting.length > 0) {
        const records = await lookUp(waiting.map(({ id }) => id)).catch(() => []);
        const byId = new Map(records.map((record) => [record.id, record]));
        for (const entry of waiting) yield timeoutLine(entry, byId.get(entry.id), closing.aborted, request);
      }
    } finally {
      unwatch();
      cancel();
    }
  }
  return {
    expect,
    cancel,
    stream(entries) {
      const lines = counted(generate(entries));
      const leave = lines.return.bind(lines);
      // A generator that was left before its first line runs no `finally`.
      lines.return = (value) => {
        cancel();
        return leave(value);
      };
      return lines;
    },
  };
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
  closing: boolean,
  { wait, options }: LinesOptions,
): ResultLine {
  const notice = record && noticeOf(record);
  if (notice && isFinal(notice, wait)) return resultLine(entry, notice, wait);
  const why = closing ? "the service is shutting down" : `no result within ${options.requestTimeoutMs} ms`;
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
