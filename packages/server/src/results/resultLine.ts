import {
  bytesToHex,
  codeOf,
  type ErrorBody,
  errorBodyOf,
  LINE_CODES,
  type LineCode,
  ProtocolError,
  type Reason,
  type ResultLine,
  type Wait,
} from "@gas-waiver/protocol";
import type { ResolvedOptions } from "../model/options/options.js";
import { certaintyOf, revertedError, type Submission } from "../model/submission/submission.js";
import { type SubmissionUpdate, updateOf } from "./results.js";

// Makes the result line of one transaction (D13).

/** One transaction of a request: refused already, or a submission whose result is awaited. */
export type LineSource = { readonly index: number; readonly id: string } & (
  | { readonly error: ProtocolError }
  /** `earlier` if it was a submission before this request (D18): then its result may be known already. */
  | { readonly innerHash: Uint8Array; readonly earlier: boolean }
);

/** Lines that are known at the same time, at least one. They leave together: each write costs more than a line. */
export type LineGroup = readonly ResultLine[];

export type RefusedSource = Extract<LineSource, { error: ProtocolError }>;
export type AwaitedSource = Extract<LineSource, { innerHash: Uint8Array }>;

/** Whether the update ends the waiting (D16). */
export function isFinal(update: SubmissionUpdate, wait: Wait): boolean {
  return update.state !== "broadcast" || wait === "broadcast";
}

/** Makes the line of an update that ends the waiting. */
export function resultLine(entry: AwaitedSource, update: SubmissionUpdate, wait: Wait): ResultLine {
  if (update.state === "failed") {
    return refusedLine(entry, new ProtocolError(update.reason, update.message, update.values));
  }
  if (update.state === "included" && update.reverted && wait === "included") {
    return refusedLine(entry, revertedError(entry.innerHash, update));
  }
  return { index: entry.index, id: entry.id, success: true, txHash: bytesToHex(entry.innerHash) };
}

/** The conditions that end a request's wait for its results. */
export interface WaitConditions {
  readonly wait: Wait;
  readonly options: Pick<ResolvedOptions, "requestTimeoutMs">;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
}

/** Makes the line of a submission without a result in time. The reason says whether it reached the chain (D17). */
export function timeoutLine(
  entry: AwaitedSource,
  record: Submission | undefined,
  { wait, options, closing }: WaitConditions,
): ResultLine {
  const update = record && updateOf(record);
  if (update && isFinal(update, wait)) return resultLine(entry, update, wait);
  const why = closing.aborted
    ? "the service is shutting down"
    : `no result within ${options.requestTimeoutMs} ms`;
  const certainty = record ? certaintyOf(record) : "unknown";
  const reasons = {
    not_broadcast: "NOT_BROADCAST",
    broadcast: "NOT_INCLUDED",
    unknown: "OUTCOME_UNKNOWN",
  } as const;
  const known = {
    not_broadcast: "it has not been broadcast",
    broadcast: "it has been broadcast, and no block is known to have executed it",
    unknown: "it may have been broadcast",
  }[certainty];
  const waits = record?.waitsFor === undefined ? "" : `; it waits: ${record.waitsFor}`;
  const message = `${why}: ${known}${waits}; the submission goes on, ask for it by its id`;
  return refusedLine(entry, new ProtocolError(reasons[certainty], message));
}

export function refusedLine({ index, id }: LineSource, error: ProtocolError): ResultLine {
  return { index, id, success: false, error: lineErrorOf(error) };
}

/** Turns the refusal of one transaction into the error of its line. */
export function lineErrorOf(error: ProtocolError): ErrorBody<LineCode> {
  return { ...errorBodyOf(error), code: lineCodeOf(error.reason) };
}

/** @throws on a code that only a whole request can have: no line ever has it. */
function lineCodeOf(reason: Reason): LineCode {
  const code = codeOf(reason);
  const lineCode = LINE_CODES.find((known) => known === code);
  if (lineCode === undefined) throw new Error(`${reason} (${code}) cannot be the error of a line`);
  return lineCode;
}
