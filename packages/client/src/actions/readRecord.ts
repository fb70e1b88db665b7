import { SUBMISSION_ROUTE } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { type ReadOptions, readAnswer } from "../http/readAnswer.js";

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
