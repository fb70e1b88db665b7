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

export interface ServerOpening {
  readonly host: string;
  readonly port: number;
  /** The port of GET /metrics; undefined for none. */
  readonly metricsPort?: number | undefined;
  /** The address of the admin API; undefined for none. */
  readonly admin?: { readonly host: string; readonly port: number } | undefined;
  /** Receives the service, to close it when the command ends. */
  readonly closeStack: CloseStack;
  readonly signal: AbortSignal;
}

export interface OpenServer {
  readonly server: Server;
  readonly url: string;
  readonly metricsUrl: string | undefined;
  readonly adminUrl: string | undefined;
}

/**
 * Starts the service and listens on its ports.
 * @throws {@link UsageError} for wrong options, {@link CommandFailedError} if the service cannot start, or the signal's
 * reason.
 */
export async function openServer(options: ServerOptions, opening: ServerOpening): Promise<OpenServer> {
  const { host, port, metricsPort, admin, closeStack, signal } = opening;
  try {
    signal.throwIfAborted();
    const server = closeStack.add(await createServer(options, { signal }));
    signal.throwIfAborted();
    const { url } = await server.listen({ host, port });
    const metrics =
      metricsPort === undefined ? undefined : await server.listenMetrics({ host, port: metricsPort });
    const adminAddress = admin && (await server.listenAdmin(admin));
    return { server, url, metricsUrl: metrics?.url, adminUrl: adminAddress?.url };
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.problems);
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}
