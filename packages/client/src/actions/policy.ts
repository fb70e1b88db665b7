import { type KeyPolicy, POLICY_ROUTE, parseKeyPolicy } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { type ReadOptions, readAnswer } from "../http/readAnswer.js";

export type { KeyPolicy } from "@gas-waiver/protocol/wire";

/** Options of {@link policy}. */
export type PolicyOptions = ReadOptions;

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
export function policy(connection: Connection, options?: PolicyOptions): Promise<KeyPolicy> {
  const answer = { parse: parseKeyPolicy, expected: "the policy of a key" };
  return readAnswer(connection, POLICY_ROUTE, answer, options);
}
