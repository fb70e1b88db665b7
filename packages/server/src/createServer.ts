import type { WaiverAccount } from "@gas-waiver/protocol";
import type { NetworksOptions } from "./model/options/networkOptions.js";
import type { ServerOptions } from "./model/options/options.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import type { Patience } from "./model/patience.js";
import type { NetworksServer, ServicePorts } from "./service.js";

/** The running service with one network. */
export interface Server extends ServicePorts {
  /** The number of submissions that the store already held at the start; 1,001 for more than a thousand. */
  readonly earlierSubmissions: number;
  /**
   * Starts the lanes of new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid. Then nothing changes.
   */
  setWaivers(accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Changes options while the service runs: limits, API keys, admin tokens, targets and others of {@link ReloadableOptions}. Those
   * that are absent get their defaults. Streams and connections of an API key that is gone end.
   * @throws {@link InvalidOptionsError} with every problem, or the store's error. Then nothing changes.
   */
  setOptions(changed: ReloadableOptions): Promise<void>;
  /** Calls the listener whenever an operator asks all replicas to read their waivers' keys again (`LaneAdmin.reload`). */
  onReloadRequested(listener: () => void): void;
  /**
   * Takes a devnet back on purpose, as to a snapshot: the lanes rest while `goBack` does so, what is not on the chain any more
   * fails and may be sent again, and the lanes begin at the chain's nonces. Only with `newChain: "adopt"`, because on any other
   * chain nothing but final blocks may undo what was told (D28).
   * @param goBack resolves to false if it has changed nothing.
   * @returns the result of `goBack`.
   * @throws an error without that option, or what `goBack` throws.
   */
  rewind(goBack: () => Promise<boolean>): Promise<boolean>;
  /**
   * Reads the policies from the chain's registry now. A service that follows the registry does so by itself, a moment after a
   * change. Resolves also if no node answers.
   */
  rereadPolicies(): Promise<void>;
}

/**
 * Builds the submission service, each part once, in this order: store, keys, chain, relay (lanes and intake), HTTP. The
 * lanes work from then on; `listen` opens the port.
 * @param signal aborts the start at the next point where that is safe.
 * @param patience for tests.
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
  { signal, patience }: { readonly signal?: AbortSignal; readonly patience?: Patience } = {},
): Promise<Server> {
  // A command that starts no service would take twice as long with HTTP, the lanes and the metrics.
  const { openService } = await import("./service.js");
  const { server, slots } = await openService({ networks: [given] }, signal, patience);
  const network = slots[0]?.running;
  if (network === undefined) throw new Error("the only network of a service that has started does not run");
  const { listen, listenMetrics, listenAdmin, setCertificate, noteReload, close } = server;
  return {
    earlierSubmissions: network.parts.earlierSubmissions,
    ...{ listen, listenMetrics, listenAdmin, setCertificate, noteReload, close },
    setWaivers: (accounts) => server.setWaivers("", accounts),
    setOptions: (changed) => server.setOptions("", changed),
    onReloadRequested: (listener) => server.onReloadRequested(() => listener()),
    rewind: network.rewind,
    rereadPolicies: network.parts.relay.policies.reread,
  };
}

export type { NetworkState, NetworksServer } from "./service.js";

/**
 * Builds a service that relays to several chains in one process. Each network has its nodes, waivers, policy, API keys and a
 * schema of the database; the ports, their limits and the database are shared. A network that cannot start is tried again,
 * and the others run meanwhile.
 * @param signal aborts the start at the next point where that is safe.
 * @throws {@link InvalidOptionsError} with every problem, or {@link StartError} if no network can start.
 * @example
 * ```ts
 * const server = await createNetworks({
 *   databaseUrl: "postgres://gas_waiver@127.0.0.1/gas_waiver",
 *   networks: [
 *     { name: "mainnet", chainId: 988, rpcUrl: mainnetUrl, waivers: [mainnetWaiver], apiKeys: [] },
 *     { name: "testnet", chainId: 2201, rpcUrl: testnetUrl, waivers: [testnetWaiver], apiKeys: [] },
 *   ],
 * });
 * // http://127.0.0.1:8080/mainnet/v1/submit and http://127.0.0.1:8080/testnet/v1/submit
 * await server.listen({ host: "127.0.0.1", port: 8080 });
 * ```
 */
export async function createNetworks(
  given: NetworksOptions,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<NetworksServer> {
  // A command that starts no service would take twice as long with HTTP, the lanes and the metrics.
  const { openService } = await import("./service.js");
  const { server } = await openService(given, signal);
  return server;
}
