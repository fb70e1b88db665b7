import {
  accountsOf,
  DEFAULT_HOST,
  DEFAULT_RPC_PORT,
  DEFAULT_SERVICE_PORT,
  DEV_API_KEY,
  DEV_PUBLISHABLE_KEY,
  DEVNET_MNEMONIC,
  type DevnetAccount,
  TEST_TOKEN_ADDRESS,
} from "@gas-waiver/devnet";
import type { ServerOptions } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import { type Context, defineCommand } from "../command.js";
import { accountLines, accountsJson, readHoldings } from "../demo/accounts.js";
import { showGaslessTransfer } from "../demo/showGaslessTransfer.js";
import { aborted } from "../interruption.js";
import { problemsOfLimits, SERVE_SETTINGS, SERVE_SUBJECTS } from "../serve/serveSettings.js";
import { LOG_LEVELS, logLevel, loopbackHost, port, text } from "../settings/parsers.js";
import { flagsOf, splitValues, type Values, withoutUndefined } from "../settings/setting.js";
import { DEV_NONCE_GAP_MS, type DevChain, devServiceOptions, followDevnet } from "../startup/devService.js";
import { CHAIN_SETTINGS, openDevnet } from "../startup/openDevnet.js";
import { earlierSubmissions, openServer } from "../startup/openServer.js";

/** The limits of the service, so that each error can be rehearsed. */
const LIMIT_SETTINGS = flagsOf({
  reorgDepth: SERVE_SETTINGS.reorgDepth,
  laneConnections: SERVE_SETTINGS.laneConnections,
  acceptConnections: SERVE_SETTINGS.acceptConnections,
  readConnections: SERVE_SETTINGS.readConnections,
  adminConnections: SERVE_SETTINGS.adminConnections,
  ...SERVE_SUBJECTS.Requests,
  ...SERVE_SUBJECTS["Rates and queues"],
  ...SERVE_SUBJECTS["The gateway"],
  ...SERVE_SUBJECTS.Connections,
  ...SERVE_SUBJECTS.Times,
});

const SETTINGS = {
  port: {
    placeholder: "PORT",
    help: "Port that the service listens on; 0 picks a free one.",
    defaultValue: String(DEFAULT_SERVICE_PORT),
    parse: port,
  },
  rpcPort: {
    placeholder: "PORT",
    help: "Port for the chain's JSON-RPC; 0 picks a free one.",
    defaultValue: String(DEFAULT_RPC_PORT),
    parse: port,
  },
  host: {
    placeholder: "ADDRESS",
    help: "Address that the service and the chain listen on. It must be a loopback address, because the keys of this service are public.",
    defaultValue: DEFAULT_HOST,
    parse: loopbackHost,
  },
  dataDir: {
    placeholder: "FOLDER",
    help: "Data folder of the service's PostgreSQL. It outlives the chain, which starts anew each time unless --state-dir keeps it.",
    defaultValue: ".gas-waiver",
    parse: text,
  },
  ...CHAIN_SETTINGS,
  ...LIMIT_SETTINGS,
  nonceGapTimeoutMs: { ...LIMIT_SETTINGS.nonceGapTimeoutMs, defaultText: String(DEV_NONCE_GAP_MS) },
  noDemo: { help: "Skip the gasless transfer at the start." },
  json: {
    help: "Print one line of JSON when all is ready, and nothing else: the URLs, the keys, the token, the accounts.",
  },
  logLevel: {
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
  isService: true,
  examples: [
    "gas-waiver dev",
    "gas-waiver dev --port 0 --rpc-port 0 --json   # free ports, printed for a script",
  ],
  settings: SETTINGS,
  check: (values) => [...problemsOfPorts(values), ...problemsOfLimits(values)],
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

function problemsOfPorts({ port: service, rpcPort }: Partial<DevValues>): string[] {
  if (service !== rpcPort || service === undefined || service === 0) return [];
  return [`--port and --rpc-port are both ${service}: the service and the chain need one each`];
}

async function startDevnetAndService(
  values: DevValues,
  { print, signal }: Context,
  closeStack: CloseStack,
): Promise<void> {
  const { host, dataDir, noDemo, json } = values;
  const [waiver] = accountsOf("waiver");
  signal.throwIfAborted();
  const printLine = json ? () => {} : print;
  const [chain] = splitValues(CHAIN_SETTINGS, values);
  const { devnet, url: rpcUrl } = await openDevnet(withoutUndefined(chain), {
    ...{ host, port: values.rpcPort, closeStack, print: printLine },
  });
  const chainId = Number(devnet.options.chainId);
  const { url, server } = await openServer(serviceOptions(values, { url: rpcUrl, chainId }, waiver), {
    ...{ host, port: values.port, closeStack, signal },
  });
  followDevnet(server, devnet, waiver);
  printLine(`service  ${url}  API key ${DEV_API_KEY}, data in ${dataDir}`);
  printLine(
    `gateway  ${url}/rpc/${DEV_PUBLISHABLE_KEY}  RPC URL for wallets on this machine (chain id ${chainId})`,
  );
  printLine(`         ${earlierSubmissions(server)} found in its store`);
  if (!noDemo)
    await showGaslessTransfer({ url, rpcUrl, chainId, waiver: waiver.address, print: printLine, signal });
  signal.throwIfAborted();
  const addresses = { url, rpcUrl, chainId, waiver: waiver.address };
  if (json) print(await devJson(addresses, signal));
  for (const line of json ? [] : await devLines(addresses, signal)) print(line);
  printLine(`ready: service at ${url} and JSON-RPC at ${rpcUrl}`);
}

type DevValues = Values<typeof SETTINGS>;

function serviceOptions(values: DevValues, chain: DevChain, waiver: DevnetAccount): ServerOptions {
  const { allowedHosts = [], allowedOrigins = [], dataDir, logLevel } = values;
  const options = devServiceOptions(chain, waiver);
  const [limits] = splitValues(LIMIT_SETTINGS, values);
  return {
    ...options,
    ...withoutUndefined(limits),
    corsOrigins: [...options.corsOrigins, ...allowedOrigins],
    allowedHosts: [...options.allowedHosts, ...allowedHosts],
    dataDir,
    logLevel,
  };
}

/** The addresses of a running `gas-waiver dev`. */
interface DevAddresses {
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  /** The waiver that carries the transactions. */
  readonly waiver: string;
}

/** Returns the accounts, the token and the next steps as lines for a person. */
async function devLines({ url, rpcUrl, waiver }: DevAddresses, signal: AbortSignal): Promise<string[]> {
  const holdings = await readHoldings(rpcUrl, signal);
  const [{ decimals } = { decimals: 18 }] = holdings;
  return [
    ...accountLines(holdings),
    `  mnemonic  ${DEVNET_MNEMONIC}`,
    `token    ${TEST_TOKEN_ADDRESS}  USDT0, ${decimals} decimals${decimals === 18 ? "" : ", and the native balance"}`,
    "",
    "next",
    `  1. send a transaction of your own: ${url}/docs has the routes, and the package for programs is`,
    "     npm install @gas-waiver/client",
    "  2. let the waiver call your contract:",
    `     npx gas-waiver governance allow --dev --rpc-url ${rpcUrl} --waiver ${waiver} --target ADDRESS`,
    `  3. see these accounts again: npx gas-waiver accounts --rpc-url ${rpcUrl}`,
    "",
  ];
}

/** Returns everything that a script needs, as one line of JSON. */
async function devJson(addresses: DevAddresses, signal: AbortSignal): Promise<string> {
  const { url, rpcUrl, chainId, waiver } = addresses;
  return JSON.stringify({
    url,
    rpcUrl,
    gatewayUrl: `${url}/rpc/${DEV_PUBLISHABLE_KEY}`,
    chainId,
    apiKey: DEV_API_KEY,
    publishableKey: DEV_PUBLISHABLE_KEY,
    token: TEST_TOKEN_ADDRESS,
    waiver,
    mnemonic: DEVNET_MNEMONIC,
    accounts: accountsJson(await readHoldings(rpcUrl, signal)),
  });
}
