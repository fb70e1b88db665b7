import {
  DEFAULT_HOST,
  DEFAULT_RPC_PORT,
  type FaultSettings,
  InvalidFaultsError,
  parseFaults,
} from "@gas-waiver/devnet";
import { CloseStack } from "../closeStack.js";
import { defineCommand } from "../command.js";
import { aborted } from "../interruption.js";
import { port, text, wholeNumber } from "../settings/parsers.js";
import { InvalidValueError, splitValues, withoutUndefined } from "../settings/setting.js";
import { CHAIN_SETTINGS, openDevnet } from "../startup/openDevnet.js";

const SETTINGS = {
  port: {
    placeholder: "PORT",
    help: "Port for JSON-RPC, over HTTP and WebSocket; 0 picks a free one.",
    defaultValue: String(DEFAULT_RPC_PORT),
    parse: port,
  },
  host: {
    placeholder: "ADDRESS",
    help: "Address that JSON-RPC listens on.",
    defaultValue: DEFAULT_HOST,
    parse: text,
  },
  ...CHAIN_SETTINGS,
  minGasPrice: {
    placeholder: "WEI",
    help: "Lowest gas price, in wei, of a transaction that no waiver carries.",
    defaultValue: "1000000000",
    parse: (value: string) => BigInt(wholeNumber(0)(value)),
  },
  seed: {
    placeholder: "N",
    help: "Seed of the faults: the same seed and the same requests meet the same faults.",
    defaultText: "1",
    parse: wholeNumber(0, 2 ** 32 - 1),
  },
  json: { help: "Print the line `ready` as JSON, for programs." },
  noMining: { help: "Start with mining stopped, until devnet_resumeMining." },
  faults: {
    flag: "fault",
    placeholder: "NAME=VALUE",
    help: "Inject a fault, such as drop=0.1 or delayMs=50-500; may come several times. A NAME that is none gets the list of them. devnet_setFaults changes the faults at run time.",
    repeatable: true,
    parse: faults,
  },
} as const;

export const devnet = defineCommand({
  description:
    "The devnet has fixed accounts with public private keys: keep nothing of value on it. The command reads no\n" +
    "environment variable.",
  isService: true,
  examples: ["gas-waiver devnet --port 8545 --state-dir .chain"],
  settings: SETTINGS,
  check: ({ seed, faults: requestedFaults }) =>
    seed !== undefined && requestedFaults?.seed !== undefined
      ? ["--seed and --fault seed= are both given: the seed comes from one of them"]
      : [],
  async run(values, { print, signal }) {
    const [chain, others] = splitValues(CHAIN_SETTINGS, values);
    const { host, port: listenPort, minGasPrice, seed, faults: requestedFaults, noMining, json } = others;
    const closeStack = new CloseStack();
    try {
      signal.throwIfAborted();
      const options = {
        ...withoutUndefined(chain),
        minGasPrice,
        faults: { ...requestedFaults, ...(seed !== undefined && { seed }) },
      };
      const printOfStart = json ? () => {} : print;
      const opening = { host, port: listenPort, mining: noMining !== true, closeStack, print: printOfStart };
      const { url } = await openDevnet(options, opening);
      if (requestedFaults !== undefined) printOfStart(`faults   ${JSON.stringify(options.faults)}`);
      signal.throwIfAborted();
      print(json ? JSON.stringify({ ready: true, rpcUrl: url }) : `ready: JSON-RPC at ${url}`);
      await aborted(signal);
    } finally {
      await closeStack.close();
    }
  },
});

/** Parses `name=value` pairs, separated by commas. */
function faults(list: string): FaultSettings {
  try {
    return parseFaults(list.split(","));
  } catch (error) {
    if (error instanceof InvalidFaultsError)
      throw new InvalidValueError(`is wrong: ${error.problems.join("; ")}`);
    throw error;
  }
}
