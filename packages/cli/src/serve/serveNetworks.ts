import {
  ADMIN_ROUTES,
  createNetworks,
  type NetworkOptions,
  type NetworkState,
  type NetworksOptions,
  SHARED_OPTIONS,
} from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Context } from "../command.js";
import { aborted } from "../interruption.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { openService } from "../startup/openServer.js";
import { splitCustody } from "../waivers/custodies.js";
import { createOpener, type OpenWaivers } from "../waivers/openWaivers.js";
import type { ConfigReload } from "./configReload.js";
import { operatorsPorts } from "./ports.js";
import type { NetworkConfig, ServeConfig } from "./serveConfig.js";
import type { ServeOutput } from "./serveOutput.js";
import { serverOptions } from "./serverOptions.js";
import type { ServeValues, SharedValues } from "./serveSettings.js";

/** Runs a service with the networks of a configuration file, until the signal ends it. */
export async function serveNetworks(
  { shared, networks }: ServeConfig,
  context: Context,
  { reload, output }: { readonly reload: ConfigReload; readonly output: ServeOutput },
): Promise<void> {
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
    const states = server.networks.map(({ name, chainId, trouble }) => ({ name, chainId, trouble }));
    const ready = { url, metricsUrl, adminUrl, networks: states };
    output.ready(ready, `ready: service at ${url} for ${networks.length} network(s)`);
    server.onReloadRequested(reload.waivers);
    reload.begin(server, new Map(opened.map(({ name, open }) => [name, open])));
    await aborted(signal);
    output.shutdown("begun");
  } finally {
    await closeStack.close();
  }
}

/** A network whose custody is open. */
interface OpenedNetwork {
  readonly name: string;
  readonly open: OpenWaivers;
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
  const open = createOpener();
  const waivers = await open({ ...custody, chainId, custodyTimeoutMs }, context);
  return {
    name,
    place: { name, ...(path !== undefined && { path }), ...(host !== undefined && { hosts: [host] }) },
    options: serverOptions(otherValues, waivers),
    open,
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
