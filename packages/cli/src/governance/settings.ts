import { accountsOf, DEFAULT_HOST, DEFAULT_RPC_PORT } from "@gas-waiver/devnet/presets";
import { hexToBytes } from "@gas-waiver/protocol";
import { fileOf, given, privateKeys, url, wholeNumber } from "../settings/parsers.js";
import { InvalidValueError } from "../settings/setting.js";

/** What every governance command can be told. */
export const CHAIN_SETTINGS = {
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC of the chain's node.",
    initial: `http://${DEFAULT_HOST}:${DEFAULT_RPC_PORT}`,
    parse: url("http:", "https:"),
  },
  json: {
    flag: "json",
    help: "Print JSON, for programs.",
    parse: given,
  },
} as const;

const devKeys = accountsOf("validator");

/** Who acts. The key itself is never an argument, since arguments can be seen by others. */
export const VALIDATOR_SETTINGS = {
  validatorKeyFile: {
    flag: "validator-key-file",
    env: "GAS_WAIVER_VALIDATOR_KEY_FILE",
    placeholder: "FILE",
    help: "The validator's private key, as hex.",
    parse: fileOf(oneKey),
  },
  devValidator: {
    flag: "dev-validator",
    placeholder: "N",
    help: `One of the devnet's validators, 0 to ${devKeys.length - 1}, whose keys everybody has.`,
    parse: devKey,
  },
} as const;

export const VALIDATOR_ALTERNATIVES = {
  of: ["validatorKeyFile", "devValidator"],
  what: "the validator's private key",
  required: true,
} as const;

/** The number of a proposal. */
export const PROPOSAL_SETTING = {
  flag: "proposal",
  placeholder: "N",
  help: "The number of the proposal.",
  required: true,
  parse: (text: string) => BigInt(wholeNumber(1)(text)),
} as const;

function oneKey(content: string): Uint8Array {
  const [key, ...more] = privateKeys(content);
  if (key === undefined || more.length > 0) throw new InvalidValueError("holds more than one private key");
  return key;
}

function devKey(text: string): Uint8Array {
  const account = devKeys[wholeNumber(0, devKeys.length - 1)(text)];
  if (account === undefined) throw new InvalidValueError("is not one of the devnet's validators");
  return hexToBytes(account.privateKey);
}
