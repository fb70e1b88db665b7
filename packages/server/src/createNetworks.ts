import type { WaiverAccount } from "@gas-waiver/protocol";
import type { NetworksOptions } from "./model/options/networkOptions.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import type { ServicePorts } from "./service.js";

/** A network of a running service. */
export interface NetworkState {
  /** Empty for a network without a name. */
  readonly name: string;
  readonly chainId: number;
  /** The beginning of its paths; undefined if only hosts lead to it. */
  readonly path: string | undefined;
  readonly hosts: readonly string[];
  /** The reason why the network does not run; undefined if it runs. It is tried again. */
  readonly trouble: string | undefined;
  /** The number of submissions that the store already held at the start; 1,001 for more than a thousand, undefined if the network does not run. */
  readonly earlierSubmissions: number | undefined;
}

/**
 * The running service with several networks. On the operators' ports, the metrics of all networks are on one page, and a
 * network's own metrics, probes and admin API are behind its name.
 */
export interface NetworksServer extends ServicePorts {
  /** The networks, in the order of the options. */
  readonly networks: readonly NetworkState[];
  /**
   * Starts the lanes of a network's new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid, or if there is no such network. Then nothing changes.
   */
  setWaivers(network: string, accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Changes options of a network while it runs, or before it is tried again: those of {@link ReloadableOptions}. Those that are
   * absent get their defaults, but for those of the process: the admin tokens and the lowest level of the log, which counts for all.
   * @throws {@link InvalidOptionsError} with every problem, or the store's error. Then nothing changes.
   */
  setOptions(network: string, changed: ReloadableOptions): Promise<void>;
  /**
   * Changes options of several networks, by their names, as {@link setOptions} does: of all, or of none.
   * @throws {@link InvalidOptionsError} with every problem of all networks, or the error of one's store. Then nothing changes.
   */
  setOptionsOfAll(changed: Readonly<Record<string, ReloadableOptions>>): Promise<void>;
  /** Calls the listener with the name of a network whose waivers an operator asks all replicas to read again. */
  onReloadRequested(listener: (network: string) => void): void;
}

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
