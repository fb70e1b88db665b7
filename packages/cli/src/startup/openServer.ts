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
import { portProblem } from "./portProblem.js";

type ListenAddress = Parameters<Server["listen"]>[0];

export interface ServerOpening extends ListenAddress {
  /** The address of the metrics and the probes; undefined for none. */
  readonly metrics?: ListenAddress | undefined;
  /** The address of the admin API; undefined for none. */
  readonly admin?: ListenAddress | undefined;
  /** Receives the service, to close it when the command ends. */
  readonly closeStack: CloseStack;
  readonly signal: AbortSignal;
}

/** The ports of a service, with one network or several. */
interface ServicePorts extends Pick<Server, "listen" | "listenMetrics" | "listenAdmin" | "close"> {}

export interface OpenServer<S = Server> {
  readonly server: S;
  readonly url: string;
  readonly metricsUrl: string | undefined;
  readonly adminUrl: string | undefined;
}

/** Starts a service with one network, as {@link openService} does. */
export function openServer(options: ServerOptions, opening: ServerOpening): Promise<OpenServer> {
  return openService((signal) => createServer(options, { signal }), opening);
}

/**
 * Opens each port for a moment, so that one in use is noticed before the lanes begin to work.
 * @throws {@link CommandFailedError}
 */
async function assertPortsFree(addresses: readonly (ListenAddress | undefined)[]): Promise<void> {
  for (const address of addresses) {
    if (address === undefined || address.port === 0) continue;
    const problem = await portProblem(address.host, address.port);
    if (problem !== undefined) throw new CommandFailedError(problem);
  }
}

/**
 * Starts the service and listens on its ports.
 * @throws {@link UsageError} for wrong options, {@link CommandFailedError} if the service cannot start, or the signal's
 * reason.
 */
export async function openService<S extends ServicePorts>(
  create: (signal: AbortSignal) => Promise<S>,
  opening: ServerOpening,
): Promise<OpenServer<S>> {
  const { host, port, metrics, admin, closeStack, signal } = opening;
  try {
    signal.throwIfAborted();
    await assertPortsFree([{ host, port }, metrics, admin]);
    const server = closeStack.add(await create(signal));
    signal.throwIfAborted();
    const { url } = await server.listen({ host, port });
    const metricsAddress = metrics && (await server.listenMetrics(metrics));
    const adminAddress = admin && (await server.listenAdmin(admin));
    return { server, url, metricsUrl: metricsAddress?.url, adminUrl: adminAddress?.url };
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.problems);
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}

/** The service stops counting above this number at its start. */
const MAX_COUNTED = 1_000;

/** @returns how many submissions the store already has, in words. */
export function earlierSubmissions({
  earlierSubmissions: count,
}: Pick<Server, "earlierSubmissions">): string {
  return `${count > MAX_COUNTED ? `more than ${MAX_COUNTED}` : count} earlier submission(s)`;
}
