import { accountsOf } from "@gas-waiver/devnet/presets";
import { hexToBytes } from "@gas-waiver/protocol";
import { privateKeys, wholeNumber } from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import { InvalidValueError } from "../settings/setting.js";

const devKeys = accountsOf("validator");

/** The validator who signs. A private key is never an argument itself, because other users can see arguments. */
export const VALIDATOR_SETTINGS = {
  validatorKeyFile: {
    flag: "validator-key-file",
    env: "GAS_WAIVER_VALIDATOR_KEY_FILE",
    placeholder: "FILE",
    help: "File with the validator's private key, as hex.",
    parse: secretFileOf(oneKey),
  },
  devValidator: {
    placeholder: "N",
    help: `Sign as one of the devnet's validators, 0 to ${devKeys.length - 1}. Their keys are public.`,
    parse: devKey,
  },
} as const;

export const VALIDATOR_ALTERNATIVES = {
  keys: ["validatorKeyFile", "devValidator"],
  subject: "the validator's private key",
  required: true,
} as const;

export const PROPOSAL_SETTING = {
  flag: "proposal",
  placeholder: "N",
  help: "Number of the proposal.",
  required: true,
  parse: (text: string) => BigInt(wholeNumber(1)(text)),
} as const;

function oneKey(content: string): Uint8Array {
  const [key, ...surplusKeys] = privateKeys(content);
  if (key === undefined || surplusKeys.length > 0)
    throw new InvalidValueError("holds more than one private key");
  return key;
}

function devKey(text: string): Uint8Array {
  const account = devKeys[wholeNumber(0, devKeys.length - 1)(text)];
  if (account === undefined) throw new InvalidValueError("is not one of the devnet's validators");
  return hexToBytes(account.privateKey);
}
