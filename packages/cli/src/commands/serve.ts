import type { WaiverAccount } from "@gas-waiver/protocol";
import { ADMIN_ROUTES, type Server, type ServerOptions } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import type { Command } from "../command.js";
import { aborted } from "../interruption.js";
import { type CustodyValues, splitCustody } from "../serve/custodySettings.js";
import { type OpenWaivers, openWaivers } from "../serve/openWaivers.js";
import { readServeConfig, SERVE_COMMAND_SETTINGS, type ServeConfig } from "../serve/serveConfig.js";
import type { ServeValues } from "../serve/serveSettings.js";
import {
  type CertificateFiles,
  certificateFiles,
  readCertificate,
  splitCertificate,
} from "../serve/transportSettings.js";
import { UsageError } from "../settings/readSettings.js";
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
    const given = valuesOfOneNetwork(readServeConfig(argv, context.env));
    const closeStack = new CloseStack();
    try {
      const { custody, otherValues: values } = splitCustody(given);
      const { host, port: listenPort, chainId, custodyTimeoutMs } = values;
      const { waivers, reread } = await openWaivers({ ...custody, chainId, custodyTimeoutMs }, context);
      delayShutdown?.(values.shutdownDelayMs ?? 0);
      const { metricsPort, metricsHost, adminPort, adminHost } = values;
      const metrics = metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort };
      const admin = adminPort === undefined ? undefined : { host: adminHost, port: adminPort };
      const opening = { host, port: listenPort, metrics, admin, closeStack, signal };
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
        const readAgain = () => rereadKeys(reread, server, print);
        onHangup?.(readAgain);
        server.onReloadRequested(readAgain);
      }
      const certificate = certificateFiles(values);
      if (certificate) onHangup?.(() => rereadCertificate(certificate, server, print));
      print(`ready: service at ${serviceUrl} for chain ${chainId}`);
      await aborted(signal);
    } finally {
      await closeStack.close();
    }
  },
};

function valuesOfOneNetwork({ file, shared, networks }: ServeConfig): ServeValues {
  const [network] = networks;
  if (network === undefined || network.place !== undefined)
    throw new UsageError([`${file}: a list of networks cannot be served yet`]);
  return { ...shared, ...network.values };
}

/** Replaces the service's waiver keys by those in the files. An unusable file changes nothing. */
function rereadKeys(
  open: NonNullable<OpenWaivers["reread"]>,
  server: Server,
  print: (line: string) => void,
): void {
  const reread = async () => {
    const waivers = await open();
    await server.setWaivers(waivers);
    print(`${waivers.length} waiver key(s) read again`);
  };
  reread().catch((error: Error) => print(`the waiver keys stay as they were: ${error.message}`));
}

/** Replaces the service's certificate by the one in the files. An unusable one changes nothing. */
function rereadCertificate(files: CertificateFiles, server: Server, print: (line: string) => void): void {
  try {
    server.setCertificate(readCertificate(files));
    print("the TLS certificate is read again");
  } catch (error) {
    print(`the TLS certificate stays as it was: ${files.cert} and ${files.key}: ${(error as Error).message}`);
  }
}

type ServiceValues = Omit<ServeValues, keyof CustodyValues>;

function serverOptions(values: ServiceValues, waivers: readonly WaiverAccount[]): ServerOptions {
  const { tls, otherValues } = splitCertificate(values);
  const {
    host,
    port: listenPort,
    metricsPort,
    metricsHost,
    adminHost,
    adminPort,
    ...serviceValues
  } = otherValues;
  const { apiKeysFile, apiKeys: keys, adminTokensFile, adminTokens, ...storeAndLimits } = serviceValues;
  const { dataDir = ".gas-waiver", databaseUrlFile, ...others } = storeAndLimits;
  const { databaseUrl = databaseUrlFile, ...limits } = others;
  return {
    ...withoutUndefined({ ...limits, adminTokens: adminTokensFile ?? adminTokens }),
    waivers,
    ...(tls && { tls }),
    apiKeys: apiKeysFile ?? keys ?? [],
    ...(databaseUrl === undefined ? { dataDir } : { databaseUrl }),
  };
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

function withoutUndefined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}
