import { type KeyPolicy, parseKeyPolicy, ROUTES } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export interface PolicyOptions {
  readonly signal?: AbortSignal;
  /** Asks again when the service is away or busy, three times in all unless told otherwise: reading changes nothing. */
  readonly retry?: RetryOptions;
}

/**
 * What this key may send: contracts and methods, of all waivers together and of each alone, and the key's limits.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export function policy(
  connection: Connection,
  { signal, retry = { attempts: 3 } }: PolicyOptions = {},
): Promise<KeyPolicy> {
  return withRetries(() => readPolicy(connection, signal), retry, signal);
}

async function readPolicy(connection: Connection, signal: AbortSignal | undefined): Promise<KeyPolicy> {
  const response = await connection.request(ROUTES.policy, { signal });
  try {
    return parseKeyPolicy(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(response.status, "the answer is not the policy of a key", { cause });
  }
}
