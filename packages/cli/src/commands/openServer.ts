import { createServer, InvalidOptionsError, type ServerOptions, StartError } from "@gas-waiver/server";
import type { Owned } from "../Owned.js";
import { CommandFailedError } from "../sentence.js";
import { UsageError } from "../settings/readSettings.js";

export interface Opening {
  readonly host: string;
  readonly port: number;
  /** Closes the service when the command ends. */
  readonly owned: Owned;
  readonly signal: AbortSignal;
}

export interface OpenServer {
  readonly url: string;
  /** How many submissions the store held at the start. */
  readonly earlierSubmissions: number;
}

/**
 * Makes the service and opens its port.
 * @throws {@link UsageError} or {@link CommandFailedError} for what the service says of its start, or the
 * reason of the signal.
 */
export async function openServer(options: ServerOptions, opening: Opening): Promise<OpenServer> {
  const { host, port, owned, signal } = opening;
  try {
    signal.throwIfAborted();
    const server = owned.add(await createServer(options));
    signal.throwIfAborted();
    const { url } = await server.listen({ host, port });
    return { url, earlierSubmissions: server.earlierSubmissions };
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.problems);
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}
