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
import { given, port, text, wholeNumber } from "../settings/parsers.js";
import { InvalidValueError } from "../settings/setting.js";
import { CHAIN_SETTINGS, openDevnet } from "./openDevnet.js";

const SETTINGS = {
  port: {
    flag: "port",
    placeholder: "PORT",
    help: "Port of JSON-RPC, over HTTP and WebSocket; 0 picks a free one.",
    initial: String(DEFAULT_RPC_PORT),
    parse: port,
  },
  host: {
    flag: "host",
    placeholder: "ADDRESS",
    help: "Address to listen on.",
    initial: DEFAULT_HOST,
    parse: text,
  },
  ...CHAIN_SETTINGS,
  minGasPrice: {
    flag: "min-gas-price",
    placeholder: "WEI",
    help: "What transactions that no waiver carries pay per gas at least.",
    initial: "1000000000",
    parse: (value: string) => BigInt(wholeNumber(0)(value)),
  },
  seed: {
    flag: "seed",
    placeholder: "N",
    help: "Which run of luck the faults have; the same seed and the same requests meet the same faults.",
    defaultText: "1",
    parse: wholeNumber(0, 2 ** 32 - 1),
  },
  noMining: {
    flag: "no-mining",
    help: "Begin with mining stopped, until devnet_resumeMining.",
    parse: given,
  },
  faults: {
    flag: "fault",
    placeholder: "NAME=VALUE",
    help: "Something that goes wrong, such as drop=0.1 or delayMs=50-500; may come several times. devnet_setFaults changes them at run time; docs/devnet.md has them all.",
    repeatable: true,
    parse: faults,
  },
} as const;

export const devnet = defineCommand({
  description:
    "It has the fixed accounts of the devnet, whose keys everybody has: nothing of worth belongs on it. The\n" +
    "environment is not read.",
  settings: SETTINGS,
  agreement: {
    check: ({ seed, faults: asked }) =>
      seed !== undefined && asked?.seed !== undefined
        ? ["--seed and --fault seed= are both given: the seed comes from one of them"]
        : [],
  },
  async run(
    { host, port: listenPort, seed, faults: asked, noMining, stateDir, ...chain },
    { print, signal },
  ) {
    const owned = new CloseStack();
    try {
      signal.throwIfAborted();
      const options = {
        ...chain,
        ...(stateDir !== undefined && { stateDir }),
        faults: { ...asked, ...(seed !== undefined && { seed }) },
      };
      const opening = { host, port: listenPort, mining: noMining !== true, owned, print };
      const { url } = await openDevnet(options, opening);
      if (asked !== undefined) print(`faults   ${JSON.stringify(options.faults)}`);
      signal.throwIfAborted();
      print(`ready: JSON-RPC at ${url}`);
      await aborted(signal);
    } finally {
      await owned.close();
    }
  },
});

/** `name=value` pairs between commas. */
function faults(list: string): FaultSettings {
  try {
    return parseFaults(list.split(","));
  } catch (error) {
    if (error instanceof InvalidFaultsError)
      throw new InvalidValueError(`is wrong: ${error.problems.join("; ")}`);
    throw error;
  }
}
