import { parseReadiness, READY_ROUTE, type Readiness } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { readAnswer } from "../http/readAnswer.js";

export type { Readiness } from "@gas-waiver/protocol/wire";

/** Options of {@link ready}. */
export interface ReadyOptions {
  readonly signal?: AbortSignal;
}

/**
 * Tells whether the service can do its work, and if not, what it lacks. For a service that is not ready, it
 * returns the readiness and throws nothing.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 * @example
 * ```ts
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * const readiness = await ready(connection);
 * ```
 */
export async function ready(connection: Connection, { signal }: ReadyOptions = {}): Promise<Readiness> {
  const response = await connection.request(READY_ROUTE, { signal, answerStatus: 503 });
  return await readAnswer(response, parseReadiness, "the readiness of a gas-waiver service", signal);
}
