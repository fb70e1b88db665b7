import { ADMIN_ROUTES } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Command } from "../command.js";
import { aborted } from "../interruption.js";
import { splitCustody } from "../serve/custodySettings.js";
import { explainHangup } from "../serve/hangup.js";
import { openWaivers } from "../serve/openWaivers.js";
import { operatorsPorts, rereadCertificateOnHangup } from "../serve/ports.js";
import { rereadWaivers } from "../serve/rereadWaivers.js";
import { readServeConfig, SERVE_COMMAND_SETTINGS } from "../serve/serveConfig.js";
import { serveNetworks } from "../serve/serveNetworks.js";
import { serverOptions } from "../serve/serverOptions.js";
import type { ServeValues } from "../serve/serveSettings.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { openServer } from "../startup/openServer.js";

export const serve: Command = {
  description:
    "Each flag can also be set by the environment variable beside it, and by its name in a configuration file\n" +
    "(--config). Flags win over variables, and variables over the file.",
  isService: true,
  examples: [
    "gas-waiver serve --rpc-url http://127.0.0.1:8545 --chain-id 2201 --waiver-keystore keystore",
    "gas-waiver serve --config gas-waiver.yaml",
  ],
  settings: SERVE_COMMAND_SETTINGS,
  async run(argv, context) {
    const { print, signal, onHangup, delayShutdown } = context;
    const config = readServeConfig(argv, context.env);
    explainHangup(context);
    if (config.networks.some(({ place }) => place !== undefined)) return await serveNetworks(config, context);
    const given = { ...config.shared, ...config.networks[0]?.values } as ServeValues;
    const closeStack = new CloseStack();
    try {
      const { custody, otherValues: values } = splitCustody(given);
      const { host, port: listenPort, chainId, custodyTimeoutMs } = values;
      const { waivers, reread } = await openWaivers({ ...custody, chainId, custodyTimeoutMs }, context);
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
      if (reread) {
        const readAgain = rereadWaivers({ read: reread, use: (all) => server.setWaivers(all), print });
        onHangup?.(readAgain);
        server.onReloadRequested(readAgain);
      }
      rereadCertificateOnHangup(values, server, context);
      print(`ready: service at ${serviceUrl} for chain ${chainId}`);
      await aborted(signal);
    } finally {
      await closeStack.close();
    }
  },
};
