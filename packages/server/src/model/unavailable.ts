import { ProtocolError } from "@gas-waiver/protocol";
import { isStoreUnavailable } from "../store/store.js";

/** A store that does not answer makes the service unavailable (D21); anything else is a fault of ours. */
export async function storeErrors<T>(run: () => Promise<T>): Promise<T> {
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

export function shuttingDown(): ProtocolError {
  return new ProtocolError("SHUTTING_DOWN", "the service is shutting down");
}
