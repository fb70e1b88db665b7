import { ProtocolError } from "@gas-waiver/protocol";
import { isStoreUnavailable } from "./database.js";

/**
 * Runs work on the store for a request.
 * @throws {@link ProtocolError} `STORE_UNAVAILABLE` (D21) if the database does not answer; any other error as it is.
 */
export async function mapStoreErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isStoreUnavailable(error)) throw error;
    throw new ProtocolError(
      "STORE_UNAVAILABLE",
      "the store does not answer; nothing was accepted for sure",
      {},
      { cause: error },
    );
  }
}
