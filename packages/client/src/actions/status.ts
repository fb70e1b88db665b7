import {
  type AnySubmissionRecord,
  parseAnySubmissionRecord,
  SUBMISSION_ROUTE,
} from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { type ReadOptions, readAnswer } from "../http/readAnswer.js";

export type { AnySubmissionRecord, RefusedRecord, SubmissionRecord } from "@gas-waiver/protocol/wire";

/** Options of {@link status}. */
export type StatusOptions = ReadOptions;

/**
 * Reads the record of a submission of this key, or for a day that of a refused line. `"refused" in record` tells which.
 * @param id the `id` of its line, or the hash of its transaction. A publishable key sees submissions by hash alone, and a
 * refused line is known by its `id` alone.
 * @throws {@link WaiverClientError} (`RequestRefusedError` of status 404 if there is no such record), or the
 * reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const record = await status(connection, id);
 * ```
 */
export function status(
  connection: Connection,
  id: string,
  options?: StatusOptions,
): Promise<AnySubmissionRecord> {
  return readRecord(connection, id, parseAnySubmissionRecord, options);
}

/**
 * Reads the record of this name, an id or a hash.
 * @param parse reads the kinds of records that the name may have: a hash has none of a refused line.
 */
export function readRecord<Kind>(
  connection: Connection,
  name: string,
  parse: (value: unknown) => Kind,
  options?: ReadOptions,
): Promise<Kind> {
  const path = SUBMISSION_ROUTE.path.replace(":id", encodeURIComponent(name));
  const answer = { parse, expected: "the record of a submission" };
  return readAnswer(connection, { ...SUBMISSION_ROUTE, path }, answer, options);
}
