import {
  accountsOf,
  DEFAULT_HOST,
  DEFAULT_RPC_PORT,
  DEFAULT_SERVICE_PORT,
  DEV_API_KEY,
  DEVNET_CHAIN_ID,
} from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { CloseStack } from "../closeStack.js";
import { type Context, defineCommand } from "../command.js";
import { showGaslessTransfer } from "../demo/showGaslessTransfer.js";
import { aborted } from "../interruption.js";
import { given, LOG_LEVELS, logLevel, loopbackHost, port, text } from "../settings/parsers.js";
import type { Values } from "../settings/setting.js";
import { CHAIN_SETTINGS, openDevnet } from "./openDevnet.js";
import { openServer } from "./openServer.js";

const SETTINGS = {
  port: {
    flag: "port",
    placeholder: "PORT",
    help: "Port of the service; 0 picks a free one.",
    initial: String(DEFAULT_SERVICE_PORT),
    parse: port,
  },
  rpcPort: {
    flag: "rpc-port",
    placeholder: "PORT",
    help: "Port of the chain's JSON-RPC; 0 picks a free one.",
    initial: String(DEFAULT_RPC_PORT),
    parse: port,
  },
  host: {
    flag: "host",
    placeholder: "ADDRESS",
    help: "Address of both; it must be a loopback address, because the keys of this service are public.",
    initial: DEFAULT_HOST,
    parse: loopbackHost,
  },
  dataDir: {
    flag: "data-dir",
    placeholder: "FOLDER",
    help: "Where the service's PostgreSQL keeps its data. It outlives the chain, which begins anew each time unless --state-dir keeps it.",
    initial: ".gas-waiver",
    parse: text,
  },
  ...CHAIN_SETTINGS,
  noDemo: {
    flag: "no-demo",
    help: "Do not send the gasless transfer at the start.",
    parse: given,
  },
  logLevel: {
    flag: "log-level",
    placeholder: "LEVEL",
    help: `What the service logs on standard error: ${LOG_LEVELS.join(", ")}.`,
    initial: "warn",
    parse: logLevel,
  },
} as const;

export const dev = defineCommand({
  description:
    "The chain has the fixed accounts of the devnet. The environment is not read: what is\n" +
    `set for a real service does not reach this one. Its API key is ${DEV_API_KEY}.`,
  settings: SETTINGS,
  agreement: {
    check: ({ port: service, rpcPort }) =>
      service === rpcPort && service !== undefined && service !== 0
        ? [`--port and --rpc-port are both ${service}: the service and the chain need one each`]
        : [],
  },
  async run(values, context) {
    const owned = new CloseStack();
    try {
      await startBoth(values, context, owned);
      await aborted(context.signal);
    } finally {
      await owned.close();
    }
  },
});

async function startBoth(
  values: Values<typeof SETTINGS>,
  { print, signal }: Context,
  owned: CloseStack,
): Promise<void> {
  const { host, dataDir, blockTimeMs, pool, stateDir } = values;
  const [waiver] = accountsOf("waiver");
  if (waiver === undefined) throw new Error("the devnet has no waiver");
  signal.throwIfAborted();
  const { url: rpcUrl } = await openDevnet(
    { blockTimeMs, pool, ...(stateDir !== undefined && { stateDir }) },
    { host, port: values.rpcPort, owned, print },
  );
  const { url, server } = await openServer(
    {
      chainId: Number(DEVNET_CHAIN_ID),
      rpcUrl,
      waiverKeys: [hexToBytes(waiver.privateKey)],
      apiKeys: [DEV_API_KEY],
      policySource: "registry",
      // The key is public, so a page may have it; but only one from this machine.
      corsOrigins: ["loopback"],
      dataDir,
      newChain: "adopt",
      logLevel: values.logLevel,
    },
    { host, port: values.port, owned, signal },
  );
  print(`service  ${url}  API key ${DEV_API_KEY}, data in ${dataDir}`);
  print(`         ${server.earlierSubmissions} earlier submission(s) found in its store`);
  if (!values.noDemo) await showGaslessTransfer({ url, rpcUrl, waiver: waiver.address, print, signal });
  signal.throwIfAborted();
  print(`ready: service at ${url} and JSON-RPC at ${rpcUrl}`);
}
