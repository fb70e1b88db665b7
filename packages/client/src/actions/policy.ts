import { type KeyPolicy, POLICY_ROUTE, parseKeyPolicy } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";
import { type RetryOptions, withRetries } from "../http/retry.js";

export type { KeyPolicy } from "@gas-waiver/protocol/wire";

/** Options of {@link policy}. */
export interface PolicyOptions {
  readonly signal?: AbortSignal;
  /** Asks again when the service is away or busy: 3 attempts by default. Reading changes nothing. */
  readonly retry?: RetryOptions;
}

/**
 * Reads what this key may send: contracts and methods, of all waivers together and of each alone, and the limits
 * of the key.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const { chainId, allowedTargets } = await policy(connection);
 * ```
 */
export function policy(
  connection: Connection,
  { signal, retry = { attempts: 3 } }: PolicyOptions = {},
): Promise<KeyPolicy> {
  return withRetries(() => readPolicy(connection, signal), retry, signal);
}

async function readPolicy(connection: Connection, signal: AbortSignal | undefined): Promise<KeyPolicy> {
  const response = await connection.request(POLICY_ROUTE, { signal });
  return await readAnswer(response, parseKeyPolicy, "the policy of a key", signal);
}
