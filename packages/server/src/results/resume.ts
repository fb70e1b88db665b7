import {
  type ErrorValues,
  hexToBytes,
  isReason,
  ProtocolError,
  type RefusedRecord,
} from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../model/keys/caller.js";
import type { Submission } from "../model/submission/submission.js";
import { findReadableSubmissions } from "../store/accept/readAccess.js";
import { linesOf, type ResultLinesOptions } from "./lines.js";
import type { Refusals } from "./refusals.js";
import type { LineGroup, LineSource } from "./resultLine.js";
import { isHash, type SubmissionsByHash } from "./submissionsByHash.js";

export interface ResumeDependencies {
  readonly refusals: Pick<Refusals, "find">;
  readonly byHash: Pick<SubmissionsByHash, "readable">;
}

/**
 * Yields the lines of earlier submissions (D23), at once for those whose result is known, and the lines that were refused.
 * `index` is the position in `names`. A key sees its own submissions only; the line of any other name is an error.
 * @param names ids, or hashes of transactions. A publishable key names by hash alone (D32).
 */
export async function resumeLines(
  request: ResultLinesOptions,
  caller: Caller,
  names: readonly string[],
  dependencies: ResumeDependencies,
): Promise<AsyncIterable<LineGroup>> {
  const ids = caller.publishable ? [] : names.filter(isUuid);
  const hashes = [...new Set(names.filter(isHash).map((name) => name.toLowerCase()))];
  const byId = ids.length === 0 ? [] : await findReadableSubmissions(request.store, caller.keyId, ids);
  const byHash = await dependencies.byHash.readable(caller.keyId, hashes.map(hexToBytes));
  const readable = new Map<string, Submission>([...byId.map((one) => [one.id, one] as const), ...byHash]);
  const otherIds = ids.filter((id) => !readable.has(id.toLowerCase()));
  const refused = otherIds.length === 0 ? [] : await dependencies.refusals.find(caller.keyId, otherIds);
  const errors = new Map(refused.map((record) => [record.id, errorOf(record)]));
  const entries = names.map((name, index): LineSource => {
    const submission = readable.get(name.toLowerCase());
    if (submission) return { index, id: submission.id, innerHash: submission.innerHash, earlier: true };
    return { index, id: name, error: errors.get(name.toLowerCase()) ?? unknownSubmission() };
  });
  return linesOf(request, entries);
}

/** The error of a refused line, as its line had it. */
function errorOf({ error: { reason = "", message, details } }: RefusedRecord): ProtocolError {
  // A newer replica may know reasons that this one does not.
  if (!isReason(reason)) return unknownSubmission();
  // A replica wrote the details, and `errorBodyOf` leaves out values of the wrong kind.
  return new ProtocolError(reason, message, details as ErrorValues | undefined);
}

function unknownSubmission(): ProtocolError {
  return new ProtocolError("UNKNOWN_SUBMISSION", "this key has no submission with this id or hash");
}
