import type { WaiverAccount } from "@gas-waiver/protocol";
import { ADMIN_ROUTES, type ReloadableOptions } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Command } from "../command.js";
import { aborted } from "../interruption.js";
import { ConfigReload } from "../serve/configReload.js";
import { splitCustody } from "../serve/custodySettings.js";
import { createOpener } from "../serve/openWaivers.js";
import { operatorsPorts } from "../serve/ports.js";
import { readServeConfig, SERVE_COMMAND_SETTINGS } from "../serve/serveConfig.js";
import { serveNetworks } from "../serve/serveNetworks.js";
import { serverOptions } from "../serve/serverOptions.js";
import type { ServeValues } from "../serve/serveSettings.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { openServer } from "../startup/openServer.js";

/** The name of a network that has none. */
const ONE_NETWORK = "";

export const serve: Command = {
  description:
    "Each flag can also be set by the environment variable beside it, and by its name in a configuration file\n" +
    "(--config). Flags win over variables, and variables over the file. At SIGHUP a service reads them again, takes over\n" +
    "those that are reloadable, and names the others that have changed.",
  isService: true,
  examples: [
    "gas-waiver serve --rpc-url http://127.0.0.1:8545 --chain-id 2201 --waiver-keystore keystore",
    "gas-waiver serve --config gas-waiver.yaml",
  ],
  settings: SERVE_COMMAND_SETTINGS,
  async run(argv, context) {
    const { print, signal, onHangup, delayShutdown } = context;
    const config = readServeConfig(argv, context.env);
    const reload = new ConfigReload({ argv, config, context });
    onHangup?.(reload.all);
    if (config.networks.some(({ place }) => place !== undefined))
      return await serveNetworks(config, context, reload);
    const given = { ...config.shared, ...config.networks[0]?.values } as ServeValues;
    const closeStack = new CloseStack();
    try {
      const { custody, otherValues: values } = splitCustody(given);
      const { host, port: listenPort, chainId, custodyTimeoutMs } = values;
      const open = createOpener();
      const waivers = await open({ ...custody, chainId, custodyTimeoutMs }, context);
      delayShutdown?.(values.shutdownDelayMs ?? 0);
      const opening = { host, port: listenPort, ...operatorsPorts(values), closeStack, signal };
      const {
        server,
        url: serviceUrl,
        metricsUrl,
        adminUrl,
      } = await openServer(serverOptions(values, waivers), opening);
      print(`${earlierSubmissions(server)} found in the store`);
      if (metricsUrl !== undefined) print(`metrics at ${metricsUrl}/metrics`);
      if (adminUrl !== undefined) print(`admin API at ${adminUrl}${ADMIN_ROUTES.list.path}`);
      print(`ready: service at ${serviceUrl} for chain ${chainId}`);
      server.onReloadRequested(() => reload.waivers(ONE_NETWORK));
      const target = {
        setOptions: (_network: string, changed: ReloadableOptions) => server.setOptions(changed),
        setWaivers: (_network: string, all: readonly WaiverAccount[]) => server.setWaivers(all),
        setCertificate: server.setCertificate,
      };
      reload.begin(target, new Map([[ONE_NETWORK, open]]));
      await aborted(signal);
    } finally {
      await closeStack.close();
    }
  },
};
