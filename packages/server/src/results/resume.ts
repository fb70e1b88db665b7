import {
  type ErrorValues,
  isReason,
  ProtocolError,
  type RefusedRecord,
  type ResultLine,
} from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../model/caller.js";
import { findReadableSubmissions } from "../store/accept/readAccess.js";
import { linesOf, type ResultLinesOptions } from "./lines.js";
import type { Refusals } from "./refusals.js";
import type { LineSource } from "./resultLine.js";

/**
 * Yields the lines of earlier submissions (D23), at once for those whose result is known, and the lines that were refused.
 * `index` is the position in `ids`. A key sees its own submissions only; the line of any other id is an error.
 */
export async function resumeLines(
  request: ResultLinesOptions,
  { keyId, publishable }: Caller,
  ids: readonly string[],
  refusals: Pick<Refusals, "find">,
): Promise<AsyncIterable<ResultLine>> {
  // D32: a publishable key sees only what it names by hash. The client sends such transactions again, which is safe (D18).
  const readableIds = publishable ? [] : ids.filter(isUuid);
  const found = await findReadableSubmissions(request.store, keyId, readableIds);
  const readable = new Map(found.map((one) => [one.id, one]));
  const otherIds = readableIds.filter((id) => !readable.has(id.toLowerCase()));
  const refused = otherIds.length === 0 ? [] : await refusals.find(keyId, otherIds);
  const errors = new Map(refused.map((record) => [record.id, errorOf(record)]));
  const entries = ids.map((id, index): LineSource => {
    const submission = readable.get(id.toLowerCase());
    if (submission) return { index, id: submission.id, innerHash: submission.innerHash, earlier: true };
    return { index, id, error: errors.get(id.toLowerCase()) ?? unknownSubmission() };
  });
  return linesOf(request, entries);
}

/** The error of a refused line, as its line had it. */
function errorOf({ error: { reason = "", message, details } }: RefusedRecord): ProtocolError {
  // A newer replica may know reasons that this one does not.
  if (!isReason(reason)) return unknownSubmission();
  // A replica wrote them, and `errorBodyOf` leaves out what is not of its kind.
  return new ProtocolError(reason, message, details as ErrorValues | undefined);
}

function unknownSubmission(): ProtocolError {
  return new ProtocolError("UNKNOWN_SUBMISSION", "this key has no submission with this id");
}
