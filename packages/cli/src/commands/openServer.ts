import {
  createServer,
  InvalidOptionsError,
  type Server,
  type ServerOptions,
  StartError,
} from "@gas-waiver/server";
import type { CloseStack } from "../closeStack.js";
import { CommandFailedError } from "../errorMessage.js";
import { UsageError } from "../settings/readSettings.js";

export interface Opening {
  readonly host: string;
  readonly port: number;
  /** Undefined: no metrics. */
  readonly metricsPort?: number | undefined;
  /** Undefined: no admin API. */
  readonly admin?: { readonly host: string; readonly port: number } | undefined;
  /** Closes the service when the command ends. */
  readonly owned: CloseStack;
  readonly signal: AbortSignal;
}

export interface OpenServer {
  readonly server: Server;
  readonly url: string;
  readonly metricsUrl: string | undefined;
  readonly adminUrl: string | undefined;
}

/**
 * Makes the service and opens its port.
 * @throws {@link UsageError} or {@link CommandFailedError} for what the service says of its start, or the
 * reason of the signal.
 */
export async function openServer(options: ServerOptions, opening: Opening): Promise<OpenServer> {
  const { host, port, metricsPort, admin, owned, signal } = opening;
  try {
    signal.throwIfAborted();
    const server = owned.add(await createServer(options, { signal }));
    signal.throwIfAborted();
    const { url } = await server.listen({ host, port });
    const metrics =
      metricsPort === undefined ? undefined : await server.listenMetrics({ host, port: metricsPort });
    const operators = admin && (await server.listenAdmin(admin));
    return { server, url, metricsUrl: metrics?.url, adminUrl: operators?.url };
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.problems);
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}
