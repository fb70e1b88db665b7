import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "./connection.js";
import { type RetryOptions, withRetries } from "./retry.js";

/** Options of a function that only reads. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Asks again when the service is away or busy: 3 attempts by default. Reading changes nothing. */
  readonly retry?: RetryOptions | undefined;
}

/**
 * Reads the JSON body of a route's answer.
 * @param answer `parse` checks the value, and throws if it is not of the `expected` kind, such as `"a list of submissions"`.
 * @throws MalformedAnswerError, or the reason of an aborted signal.
 */
export function readAnswer<T>(
  connection: Connection,
  route: Parameters<Connection["request"]>[0],
  {
    parse,
    expected,
    ...request
  }: { readonly parse: (value: unknown) => T; readonly expected: string } & Parameters<
    Connection["request"]
  >[1],
  { signal, retry = { attempts: 3 } }: ReadOptions = {},
): Promise<T> {
  const read = async () => {
    const response = await connection.request(route, { ...request, signal });
    try {
      return parse(await response.json());
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw new MalformedAnswerError(response.status, `the answer is not ${expected}`, { cause });
    }
  };
  return withRetries(read, retry, signal);
}
