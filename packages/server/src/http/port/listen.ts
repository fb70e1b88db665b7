import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartError } from "../../model/errors.js";
import { isLoopbackHost } from "../../model/options/networkAddress.js";
import type { ResolvedOptions } from "../../model/options/options.js";

/** An address to listen on. Port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens a port.
 * @throws {@link StartError} with one sentence if the port cannot be opened, or if other machines could reach it without TLS.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: ListenAddress,
  { tls, behindProxy }: Pick<ResolvedOptions, "tls" | "behindProxy">,
) {
  if (tls === undefined && !behindProxy && !isLoopbackHost(host)) {
    throw new StartError(
      `other machines can reach ${host}, so it needs TLS: set tls, or behindProxy if a proxy ends TLS`,
    );
  }
  try {
    const url = await app.listen({ host: singleAddress(host), port });
    return { url, port: portOf(app.server.address()) ?? port };
  } catch (error) {
    throw new StartError(listenErrorMessage(error, host, port), { cause: error });
  }
}

/** For `localhost`, Fastify would open a second server on `::1`, past the limits that hang on the first. */
function singleAddress(host: string): string {
  return host === "localhost" ? "127.0.0.1" : host;
}

function listenErrorMessage(error: unknown, host: string, port: number): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `port ${port} of ${host} is in use by another program`;
  if (code === "EACCES") return `port ${port} of ${host} needs rights that this user does not have`;
  if (code === "EADDRNOTAVAIL") return `${host} is not an address of this machine`;
  return `the service cannot listen on ${host}:${port}: ${message}`;
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

/** The time that the last result lines have to reach their clients when the service closes, in ms. */
const LAST_LINES_MS = 500;

/**
 * Closes the ports of a service whose lines have their last answers. These need a moment, and a client that sends its request
 * slowly would delay the end for a minute.
 */
export async function closeApps(apps: readonly FastifyInstance[]): Promise<void> {
  const cut = setTimeout(() => {
    for (const { server } of apps) server.closeAllConnections();
  }, LAST_LINES_MS);
  await Promise.all(apps.map((app) => app.close()));
  clearTimeout(cut);
}
