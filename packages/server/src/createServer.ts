import type { Server } from "./buildServer.js";
import type { ServerOptions } from "./model/options/options.js";

export type { Server } from "./buildServer.js";

/**
 * Builds the submission service, each part once, in this order: store, keys, chain, relay (lanes and intake), HTTP. The
 * lanes work from then on; `listen` opens the port.
 * @param signal aborts the start at the next point where that is safe.
 * @throws {@link InvalidOptionsError} with every problem, or {@link StartError} with one sentence.
 * @example
 * ```ts
 * const server = await createServer({
 *   chainId: 2201,
 *   rpcUrl: "http://127.0.0.1:8545",
 *   waivers: [privateKeyWaiver(waiverKey)],
 *   apiKeys: [],
 *   dataDir: ".gas-waiver",
 * });
 * const { url } = await server.listen({ host: "127.0.0.1", port: 8080 });
 * ```
 */
export async function createServer(
  given: ServerOptions,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Server> {
  // A command that starts no service would take twice as long with HTTP, the lanes and the metrics.
  const { buildServer } = await import("./buildServer.js");
  return buildServer(given, signal);
}
