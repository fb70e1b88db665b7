import {
  ADMIN_ROUTES,
  createNetworks,
  type NetworkOptions,
  type NetworkState,
  type NetworksOptions,
  SHARED_OPTIONS,
} from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Command, Context } from "../command.js";
import { aborted } from "../interruption.js";
import { networkName } from "../serve/changedSettings.js";
import { ConfigReload, RELOAD_LOOK_MS } from "../serve/configReload.js";
import {
  type NetworkConfig,
  readServeConfig,
  SERVE_COMMAND_SETTINGS,
  type ServeConfig,
} from "../serve/serveConfig.js";
import { SERVE_OUTPUT_SETTINGS, type ServeOutput, serveOutput } from "../serve/serveOutput.js";
import { serverOptions } from "../serve/serverOptions.js";
import type { SharedValues } from "../serve/serveSettings.js";
import { withoutUndefined } from "../settings/setting.js";
import { earlierSubmissions, openService } from "../startup/openServer.js";
import { createOpener, type OpenWaivers } from "../waivers/openWaivers.js";

export const serve: Command = {
  description:
    "Each flag can also be set by the environment variable beside it, and by its name in a configuration file\n" +
    "(--config). Flags win over variables, and variables over the file. At SIGHUP a service reads them again,\n" +
    "takes over those that are reloadable, and names the others that have changed.",
  isService: true,
  examples: [
    "gas-waiver serve --rpc-url http://127.0.0.1:8545 --chain-id 2201 --waiver-keystore keystore",
    "gas-waiver serve --config gas-waiver.yaml",
  ],
  settings: { ...SERVE_COMMAND_SETTINGS, ...SERVE_OUTPUT_SETTINGS },
  async run(argv, given) {
    const { config, others } = readServeConfig(argv, given.env, SERVE_OUTPUT_SETTINGS);
    const output = serveOutput(given, others.json === true);
    const context = { ...given, print: output.print };
    const reload = new ConfigReload({ argv, config, context });
    context.onHangup?.(reload.all);
    await serveUntilAborted(config, context, { reload, output });
    output.shutdown("done");
  },
};

/** Runs a service until the signal ends it. */
async function serveUntilAborted(
  { shared, networks }: ServeConfig,
  context: Context,
  { reload, output }: { readonly reload: ConfigReload; readonly output: ServeOutput },
): Promise<void> {
  const { print, signal, delayShutdown } = context;
  const { host, port } = shared;
  const closeStack = new CloseStack();
  try {
    const opened: OpenedNetwork[] = [];
    // One after the other: a custody may ask for a passphrase.
    for (const network of networks) opened.push(await openNetwork(network, shared, context));
    delayShutdown?.(shared.shutdownDelayMs ?? 0);
    const create = (aborting: AbortSignal) => createNetworks(networksOptions(opened), { signal: aborting });
    const opening = { host, port, ...operatorsPorts(shared), closeStack, signal };
    const { server, url, metricsUrl, adminUrl } = await openService(create, opening);
    for (const network of server.networks) print(describeNetwork(network, url));
    if (metricsUrl !== undefined) print(`metrics at ${metricsUrl}/metrics`);
    const alone = server.networks.find(({ name }) => name === "");
    const namePath = alone ? "" : "/NETWORK";
    if (adminUrl !== undefined) print(`admin API at ${adminUrl}${namePath}${ADMIN_ROUTES.list.path}`);
    const states = server.networks.map(({ name, chainId, trouble }) => ({ name, chainId, trouble }));
    const served = alone ? { chainId: alone.chainId } : { networks: states };
    const what = alone ? `chain ${alone.chainId}` : `${networks.length} network(s)`;
    output.ready({ url, metricsUrl, adminUrl, ...served }, `ready: service at ${url} for ${what}`);
    server.onReloadRequested(reload.waivers);
    reload.begin(server, new Map(opened.map(({ name, open }) => [name, open])));
    const looks = setInterval(reload.look, RELOAD_LOOK_MS).unref();
    closeStack.add({ close: async () => clearInterval(looks) });
    await aborted(signal);
    output.shutdown("begun");
  } finally {
    await closeStack.close();
  }
}

/** Returns the addresses of the operators' ports; undefined for a port that stays closed. */
function operatorsPorts({ metricsPort, metricsHost, adminPort, adminHost }: SharedValues) {
  return {
    metrics: metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort },
    admin: adminPort === undefined ? undefined : { host: adminHost, port: adminPort },
  };
}

/** A network whose custody is open. */
interface OpenedNetwork {
  readonly name: string;
  readonly open: OpenWaivers;
  /** Empty for the one network of a service without a list of networks. */
  readonly place: Pick<NetworkOptions, "name" | "path" | "hosts">;
  readonly options: ReturnType<typeof serverOptions>;
}

async function openNetwork(
  network: NetworkConfig,
  shared: SharedValues,
  context: Context,
): Promise<OpenedNetwork> {
  const { name, path, host } = network.place ?? {};
  const { chainId, custodyTimeoutMs } = network.values;
  const open = createOpener();
  const waivers = await open({ ...network.custody, chainId, custodyTimeoutMs }, context);
  return {
    name: networkName(network),
    place: withoutUndefined({ name, path, hosts: host === undefined ? undefined : [host] }),
    options: serverOptions({ ...shared, ...network.values }, waivers),
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
  const found =
    count === undefined
      ? `does not run, and is tried again: ${trouble}`
      : `${earlierSubmissions({ earlierSubmissions: count })} found in the store`;
  if (name === "") return found;
  const place = path === undefined ? `for ${hosts.join(", ")}` : `at ${url}${path === "/" ? "" : path}`;
  return `network ${name} (chain ${chainId}) ${place}: ${found}`;
}
