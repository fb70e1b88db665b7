import { StartError } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";

/** Opens a custody. @throws {@link CommandFailedError} with the reason why it is of no use. */
export async function usable<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}
