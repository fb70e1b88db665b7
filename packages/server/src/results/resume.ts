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
  { keyId }: Caller,
  ids: readonly string[],
): Promise<AsyncIterable<ResultLine>> {
  const found = await findReadableSubmissions(request.store, keyId, ids.filter(isUuid));
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
