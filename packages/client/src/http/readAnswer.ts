import { MalformedAnswerError } from "../errors.js";

/**
 * Reads the JSON body of an answer.
 * @param parse checks the value, and throws if it is not of the expected kind.
 * @param expected the kind, for the error: `"a list of submissions"`.
 * @throws MalformedAnswerError, or the reason of an aborted signal.
 */
export async function readAnswer<T>(
  response: Response,
  parse: (value: unknown) => T,
  expected: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return parse(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(response.status, `the answer is not ${expected}`, { cause });
  }
}
