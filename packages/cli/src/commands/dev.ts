import {
  accountsOf,
  DEFAULT_HOST,
  DEFAULT_RPC_PORT,
  DEFAULT_SERVICE_PORT,
  DEV_API_KEY,
  DEV_PUBLISHABLE_KEY,
  DEVNET_CHAIN_ID,
} from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { privateKeyWaiver } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import { type Context, defineCommand } from "../command.js";
import { showGaslessTransfer } from "../demo/showGaslessTransfer.js";
import { aborted } from "../interruption.js";
import { LOG_LEVELS, logLevel, loopbackHost, port, switchedOn, text } from "../settings/parsers.js";
import type { Values } from "../settings/setting.js";
import { earlierSubmissions } from "../startup/earlierSubmissions.js";
import { CHAIN_SETTINGS, openDevnet } from "../startup/openDevnet.js";
import { openServer } from "../startup/openServer.js";

const SETTINGS = {
  port: {
    flag: "port",
    placeholder: "PORT",
    help: "Port that the service listens on; 0 picks a free one.",
    defaultValue: String(DEFAULT_SERVICE_PORT),
    parse: port,
  },
  rpcPort: {
    flag: "rpc-port",
    placeholder: "PORT",
    help: "Port for the chain's JSON-RPC; 0 picks a free one.",
    defaultValue: String(DEFAULT_RPC_PORT),
    parse: port,
  },
  host: {
    flag: "host",
    placeholder: "ADDRESS",
    help: "Address that the service and the chain listen on. It must be a loopback address, because the keys of this service are public.",
    defaultValue: DEFAULT_HOST,
    parse: loopbackHost,
  },
  dataDir: {
    flag: "data-dir",
    placeholder: "FOLDER",
    help: "Data folder of the service's PostgreSQL. It outlives the chain, which starts anew each time unless --state-dir keeps it.",
    defaultValue: ".gas-waiver",
    parse: text,
  },
  ...CHAIN_SETTINGS,
  noDemo: {
    flag: "no-demo",
    help: "Skip the gasless transfer at the start.",
    parse: switchedOn,
  },
  logLevel: {
    flag: "log-level",
    placeholder: "LEVEL",
    help: `Lowest level of the service's log on standard error: ${LOG_LEVELS.join(", ")}.`,
    defaultValue: "warn",
    parse: logLevel,
  },
} as const;

export const dev = defineCommand({
  description:
    "The chain has the fixed accounts of the devnet. The command reads no environment variable, so that the\n" +
    `settings of a real service do not reach this one. The API key is ${DEV_API_KEY}, and the publishable\n` +
    `key for pages and wallets on this machine ${DEV_PUBLISHABLE_KEY}; \`gas-waiver serve\` takes neither.`,
  settings: SETTINGS,
  rules: {
    check: ({ port: service, rpcPort }) =>
      service === rpcPort && service !== undefined && service !== 0
        ? [`--port and --rpc-port are both ${service}: the service and the chain need one each`]
        : [],
  },
  async run(values, context) {
    const closeStack = new CloseStack();
    try {
      await startDevnetAndService(values, context, closeStack);
      await aborted(context.signal);
    } finally {
      await closeStack.close();
    }
  },
});

async function startDevnetAndService(
  values: Values<typeof SETTINGS>,
  { print, signal }: Context,
  closeStack: CloseStack,
): Promise<void> {
  const { host, dataDir, blockTimeMs, pool, stateDir, allowedHosts, allowedOrigins } = values;
  const [waiver] = accountsOf("waiver");
  if (waiver === undefined) throw new Error("the devnet has no waiver");
  signal.throwIfAborted();
  const { devnet, url: rpcUrl } = await openDevnet(
    {
      blockTimeMs,
      pool,
      ...(stateDir !== undefined && { stateDir }),
      ...(allowedHosts !== undefined && { allowedHosts }),
      ...(allowedOrigins !== undefined && { allowedOrigins }),
    },
    { host, port: values.rpcPort, closeStack, print },
  );
  const { url, server } = await openServer(
    {
      chainId: Number(DEVNET_CHAIN_ID),
      rpcUrl,
      waivers: [privateKeyWaiver(hexToBytes(waiver.privateKey))],
      apiKeys: [],
      publicApiKeys: [DEV_API_KEY, DEV_PUBLISHABLE_KEY],
      policySource: "registry",
      // The API key is public, so pages may use it, but only pages from this machine.
      corsOrigins: ["loopback", ...(allowedOrigins ?? [])],
      // A stranger's page can let its own host name resolve to this machine (DNS rebinding).
      allowedHosts: ["loopback", ...(allowedHosts ?? [])],
      dataDir,
      newChain: "adopt",
      logLevel: values.logLevel,
    },
    { host, port: values.port, closeStack, signal },
  );
  // The service rests meanwhile, and its wrappers leave the pool, so that nothing of what is gone comes again.
  devnet.aroundGoingBack((goBack) =>
    server.rewind(async () => {
      const wentBack = await goBack();
      await devnet.request({ method: "anvil_removePoolTransactions", params: [waiver.address] });
      return wentBack;
    }),
  );
  print(`service  ${url}  API key ${DEV_API_KEY}, data in ${dataDir}`);
  print(
    `gateway  ${url}/rpc/${DEV_PUBLISHABLE_KEY}  RPC URL for wallets on this machine (chain id ${DEVNET_CHAIN_ID})`,
  );
  print(`         ${earlierSubmissions(server)} found in its store`);
  if (!values.noDemo) await showGaslessTransfer({ url, rpcUrl, waiver: waiver.address, print, signal });
  signal.throwIfAborted();
  print(`ready: service at ${url} and JSON-RPC at ${rpcUrl}`);
}
