import { ProtocolError } from "@gas-waiver/protocol";
import { troubleOf } from "./storeTrouble.js";

/**
 * Runs work on the store for a request.
 * @throws {@link ProtocolError} `STORE_UNAVAILABLE` (D21) with the name of the trouble if the database cannot do its work;
 * any other error as it is.
 */
export async function mapStoreErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble === undefined) throw error;
    const message = `${trouble.message}; it is not certain that anything was accepted`;
    throw new ProtocolError("STORE_UNAVAILABLE", message, {}, { cause: error });
  }
}
