import { HEALTH_ROUTE, type Health, parseHealth } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";

export type { Health } from "@gas-waiver/protocol/wire";

/** Options of {@link health}. */
export interface HealthOptions {
  readonly signal?: AbortSignal;
}

/**
 * Tells whether the service is up, its version and its chain. It needs no API key.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const { version, chainId } = await health(connection);
 * ```
 */
export async function health(connection: Connection, { signal }: HealthOptions = {}): Promise<Health> {
  const response = await connection.request(HEALTH_ROUTE, { signal });
  return await readAnswer(response, parseHealth, "the health of a gas-waiver service", signal);
}
