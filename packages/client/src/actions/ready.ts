import { parseReadiness, type Readiness, ROUTES } from "@gas-waiver/protocol/wire";
import { MalformedAnswerError } from "../errors.js";
import type { Connection } from "../http/connection.js";

export interface ReadyOptions {
  readonly signal?: AbortSignal;
}

/**
 * Can the service do its work, and if not, what does it lack? A service that is not ready is an answer, no error.
 * @throws {@link WaiverClientError}, or the reason of an aborted signal.
 */
export async function ready(connection: Connection, { signal }: ReadyOptions = {}): Promise<Readiness> {
  const response = await connection.request(ROUTES.ready, { signal, alsoAnswers: 503 });
  try {
    return parseReadiness(await response.json());
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new MalformedAnswerError(
      response.status,
      "the answer is not the readiness of a gas-waiver service",
      {
        cause,
      },
    );
  }
}
