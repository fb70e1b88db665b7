import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { StartError } from "../model/errors.js";

/**
 * Opens a port. Port 0 takes a free one.
 * @throws {@link StartError} with one sentence if the port cannot be opened.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
) {
  try {
    const url = await app.listen({ host, port });
    return { url, port: portOf(app.server.address()) ?? port };
  } catch (error) {
    throw new StartError(listenErrorMessage(error, host, port), { cause: error });
  }
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
