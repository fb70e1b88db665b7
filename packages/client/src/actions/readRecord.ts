import { SUBMISSION_ROUTE } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export interface ReadRecordOptions {
  readonly signal?: AbortSignal | undefined;
  readonly retry?: RetryOptions | undefined;
}

/**
 * Reads the record of this name, an id or a hash.
 * @param parse reads the kinds of records that the name may have: a hash has none of a refused line.
 */
export function readRecord<Kind>(
  connection: Connection,
  name: string,
  parse: (value: unknown) => Kind,
  { signal, retry = { attempts: 3 } }: ReadRecordOptions = {},
): Promise<Kind> {
  const path = SUBMISSION_ROUTE.path.replace(":id", encodeURIComponent(name));
  const read = async () => {
    const response = await connection.request({ ...SUBMISSION_ROUTE, path }, { signal });
    return await readAnswer(response, parse, "the record of a submission", signal);
  };
  return withRetries(read, retry, signal);
}
