import {
  ADMIN_ROUTES,
  createNetworks,
  type NetworkOptions,
  type NetworkState,
  type NetworksOptions,
  type NetworksServer,
  SHARED_OPTIONS,
} from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Context } from "../command.js";
import { aborted } from "../interruption.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { openService } from "../startup/openServer.js";
import { splitCustody } from "./custodySettings.js";
import { type OpenWaivers, openWaivers } from "./openWaivers.js";
import { operatorsPorts, rereadCertificateOnHangup } from "./ports.js";
import { rereadWaivers } from "./rereadWaivers.js";
import type { NetworkConfig, ServeConfig } from "./serveConfig.js";
import { serverOptions } from "./serverOptions.js";
import type { ServeValues, SharedValues } from "./serveSettings.js";

/** Runs a service with the networks of a configuration file, until the signal ends it. */
export async function serveNetworks({ shared, networks }: ServeConfig, context: Context): Promise<void> {
  const { print, signal, delayShutdown } = context;
  const closeStack = new CloseStack();
  try {
    const opened: OpenedNetwork[] = [];
    // One after the other: a custody may ask for a passphrase.
    for (const network of networks) opened.push(await openNetwork(network, shared, context));
    delayShutdown?.(shared.shutdownDelayMs ?? 0);
    const opening = { host: shared.host, port: shared.port, ...operatorsPorts(shared), closeStack, signal };
    const create = (aborting: AbortSignal) => createNetworks(networksOptions(opened), { signal: aborting });
    const { server, url, metricsUrl, adminUrl } = await openService(create, opening);
    for (const network of server.networks) print(describeNetwork(network, url));
    if (metricsUrl !== undefined) print(`metrics at ${metricsUrl}/metrics`);
    if (adminUrl !== undefined) print(`admin API at ${adminUrl}/NETWORK${ADMIN_ROUTES.list.path}`);
    for (const { name, reread } of opened) if (reread) rereadOnHangup(name, reread, server, context);
    rereadCertificateOnHangup(shared, server, context);
    print(`ready: service at ${url} for ${networks.length} network(s)`);
    await aborted(signal);
  } finally {
    await closeStack.close();
  }
}

/** A network whose custody is open. */
interface OpenedNetwork extends Pick<OpenWaivers, "reread"> {
  readonly name: string;
  readonly place: Pick<NetworkOptions, "name" | "path" | "hosts">;
  readonly options: ReturnType<typeof serverOptions>;
}

async function openNetwork(
  { place, values }: NetworkConfig,
  shared: SharedValues,
  context: Context,
): Promise<OpenedNetwork> {
  const { name = "", path, host } = place ?? {};
  const { custody, otherValues } = splitCustody({ ...shared, ...values } as ServeValues);
  const { chainId, custodyTimeoutMs } = otherValues;
  const { waivers, reread } = await openWaivers({ ...custody, chainId, custodyTimeoutMs }, context);
  return {
    name,
    place: { name, ...(path !== undefined && { path }), ...(host !== undefined && { hosts: [host] }) },
    options: serverOptions(otherValues, waivers),
    reread,
  };
}

/** The shared settings are in the options of each network, all with the same values. */
function networksOptions(opened: readonly OpenedNetwork[]): NetworksOptions {
  const isShared = (option: string) => SHARED_OPTIONS.some((shared) => shared === option);
  const pick = (options: object, shared: boolean) =>
    Object.fromEntries(Object.entries(options).filter(([option]) => isShared(option) === shared));
  const networks = opened.map(
    ({ place, options }) => ({ ...pick(options, false), ...place }) as NetworkOptions,
  );
  return { ...pick(opened[0]?.options ?? {}, true), networks };
}

function describeNetwork(network: NetworkState, url: string): string {
  const { name, chainId, path, hosts, trouble, earlierSubmissions: count } = network;
  const place = path === undefined ? `for ${hosts.join(", ")}` : `at ${url}${path === "/" ? "" : path}`;
  const state =
    count === undefined
      ? `does not run, and is tried again: ${trouble}`
      : `${earlierSubmissions({ earlierSubmissions: count })} found in the store`;
  return `network ${name} (chain ${chainId}) ${place}: ${state}`;
}

/** Replaces a network's waiver keys by those in its files at each SIGHUP, and when an operator asks for it. An unusable file changes nothing. */
function rereadOnHangup(
  name: string,
  open: NonNullable<OpenWaivers["reread"]>,
  server: NetworksServer,
  { print, onHangup }: Context,
): void {
  const readAgain = rereadWaivers({
    read: open,
    use: (waivers) => server.setWaivers(name, waivers),
    print: (line) => print(`network ${name}: ${line}`),
  });
  onHangup?.(readAgain);
  server.onReloadRequested((network) => {
    if (network === name) readAgain();
  });
}
