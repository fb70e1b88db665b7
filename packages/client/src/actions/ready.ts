import { parseReadiness, READY_ROUTE, type Readiness } from "@gas-waiver/protocol/wire";
import type { Connection } from "../http/connection.js";
import { type ReadOptions, readAnswer } from "../http/readAnswer.js";

export type { Readiness } from "@gas-waiver/protocol/wire";

/** Options of {@link ready}. */
export type ReadyOptions = Pick<ReadOptions, "signal">;

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
export function ready(connection: Connection, { signal }: ReadyOptions = {}): Promise<Readiness> {
  const expected = "the readiness of a gas-waiver service";
  const answer = { parse: parseReadiness, expected, answerStatus: 503 };
  return readAnswer(connection, READY_ROUTE, answer, { signal, retry: { attempts: 1 } });
}
