import { type Health, parseHealth, ROUTES } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "../http/connection.js";

export interface HealthOptions {
  readonly signal?: AbortSignal;
}

/**
 * Is the service up, and for which chain? Needs no API key.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export async function health(connection: Connection, { signal }: HealthOptions = {}): Promise<Health> {
  const response = await connection.request(ROUTES.health, { signal });
  try {
    return parseHealth(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(response.status, "the answer is not the health of a gas-waiver service", {
      cause,
    });
  }
}
