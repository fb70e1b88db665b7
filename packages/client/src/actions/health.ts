import { HEALTH_ROUTE, type Health, parseHealth } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { type ReadOptions, readAnswer } from "../http/readAnswer.js";

export type { Health } from "@gas-waiver/protocol/wire";

/** Options of {@link health}. */
export type HealthOptions = Pick<ReadOptions, "signal">;

/**
 * Tells whether the service is up, its version and its chain. It needs no API key.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const { version, chainId } = await health(connection);
 * ```
 */
export function health(connection: Connection, { signal }: HealthOptions = {}): Promise<Health> {
  const answer = { parse: parseHealth, expected: "the health of a gas-waiver service" };
  return readAnswer(connection, HEALTH_ROUTE, answer, { signal, retry: { attempts: 1 } });
}
