import { ProtocolError, type ResultLine } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../model/caller.js";
import { findReadableSubmissions } from "../store/accept/readAccess.js";
import { linesOf, type ResultLinesOptions } from "./lines.js";
import type { LineSource } from "./resultLine.js";

/**
 * Yields the lines of earlier submissions (D23), at once for those whose result is known. `index` is the position in
 * `ids`. A key sees its own submissions only; the line of any other id is an error.
 */
export async function resumeLines(
  request: ResultLinesOptions,
  { keyId, publishable }: Caller,
  ids: readonly string[],
): Promise<AsyncIterable<ResultLine>> {
  // D32: a publishable key sees only what it names by hash. The client sends such transactions again, which is safe (D18).
  const readableIds = publishable ? [] : ids.filter(isUuid);
  const found = await findReadableSubmissions(request.store, keyId, readableIds);
  const readable = new Map(found.map((one) => [one.id, one]));
  const entries = ids.map((id, index): LineSource => {
    const submission = readable.get(id.toLowerCase());
    if (submission) return { index, id: submission.id, innerHash: submission.innerHash, earlier: true };
    return {
      index,
      id,
      error: new ProtocolError("UNKNOWN_SUBMISSION", "this key has no submission with this id"),
    };
  });
  return linesOf(request, entries);
}
