import {
  createServer,
  InvalidOptionsError,
  type Server,
  type ServerOptions,
  StartError,
} from "@gas-waiver/server";
import { CommandFailedError } from "../sentence.js";
import { UsageError } from "../settings/readSettings.js";

/**
 * Makes the service.
 * @throws {@link UsageError} or {@link CommandFailedError} for what the service says of its start.
 */
export async function openServer(options: ServerOptions): Promise<Server> {
  try {
    return await createServer(options);
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.problems);
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}
