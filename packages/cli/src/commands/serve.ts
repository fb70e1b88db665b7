import type { WaiverAccount } from "@gas-waiver/protocol";
import { ADMIN_ROUTES, type ReloadableOptions } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Command, Context } from "../command.js";
import { aborted } from "../interruption.js";
import { ConfigReload } from "../serve/configReload.js";
import { operatorsPorts } from "../serve/ports.js";
import { readServeConfig, SERVE_COMMAND_SETTINGS, type ServeConfig } from "../serve/serveConfig.js";
import { serveNetworks } from "../serve/serveNetworks.js";
import { SERVE_OUTPUT_SETTINGS, type ServeOutput, serveOutput } from "../serve/serveOutput.js";
import { serverOptions } from "../serve/serverOptions.js";
import type { ServeValues } from "../serve/serveSettings.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { openServer } from "../startup/openServer.js";
import { splitCustody } from "../waivers/custodies.js";
import { createOpener } from "../waivers/openWaivers.js";

/** The name of a network that has none. */
const ONE_NETWORK = "";

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
    const isList = config.networks.some(({ place }) => place !== undefined);
    await (isList ? serveNetworks : serveOne)(config, context, { reload, output });
    output.shutdown("done");
  },
};

/** Runs a service with one network, until the signal ends it. */
async function serveOne(
  config: ServeConfig,
  context: Context,
  { reload, output }: { readonly reload: ConfigReload; readonly output: ServeOutput },
): Promise<void> {
  const { print, signal, delayShutdown } = context;
  const given = { ...config.shared, ...config.networks[0]?.values } as ServeValues;
  const closeStack = new CloseStack();
  try {
    const { custody, otherValues: values } = splitCustody(given);
    const { host, port: listenPort, chainId, custodyTimeoutMs } = values;
    const open = createOpener();
    const waivers = await open({ ...custody, chainId, custodyTimeoutMs }, context);
    delayShutdown?.(values.shutdownDelayMs ?? 0);
    const opening = { host, port: listenPort, ...operatorsPorts(values), closeStack, signal };
    const { server, url, metricsUrl, adminUrl } = await openServer(serverOptions(values, waivers), opening);
    print(`${earlierSubmissions(server)} found in the store`);
    if (metricsUrl !== undefined) print(`metrics at ${metricsUrl}/metrics`);
    if (adminUrl !== undefined) print(`admin API at ${adminUrl}${ADMIN_ROUTES.list.path}`);
    const ready = { url, metricsUrl, adminUrl, chainId };
    output.ready(ready, `ready: service at ${url} for chain ${chainId}`);
    server.onReloadRequested(() => reload.waivers(ONE_NETWORK));
    const target = {
      async setOptionsOfAll(changed: Readonly<Record<string, ReloadableOptions>>) {
        for (const options of Object.values(changed)) await server.setOptions(options);
      },
      setWaivers: (_network: string, all: readonly WaiverAccount[]) => server.setWaivers(all),
      setCertificate: server.setCertificate,
    };
    reload.begin(target, new Map([[ONE_NETWORK, open]]));
    await aborted(signal);
    output.shutdown("begun");
  } finally {
    await closeStack.close();
  }
}
