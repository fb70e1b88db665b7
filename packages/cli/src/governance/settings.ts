import { accountsOf } from "@gas-waiver/devnet/presets";
import { hexToBytes } from "@gas-waiver/protocol";
import { privateKeys, wholeNumber } from "../settings/parsers.js";
import { secretFileOf } from "../settings/secretFile.js";
import { InvalidValueError, namesOf, type Values } from "../settings/setting.js";

const devKeys = accountsOf("validator");

export const VALIDATOR = "the validator's private key";

/** The validator who signs. A private key is never an argument itself, because other users can see arguments. */
export const VALIDATOR_SETTINGS = {
  validatorKeyFile: {
    ...namesOf("validator-key-file"),
    placeholder: "FILE",
    subject: VALIDATOR,
    help: "File with the validator's private key, as hex.",
    parse: secretFileOf(oneKey),
  },
  devValidator: {
    placeholder: "N",
    subject: VALIDATOR,
    help: `Sign as one of the devnet's validators, 0 to ${devKeys.length - 1}. Their keys are public.`,
    parse: devKey,
  },
} as const;

export const PROPOSAL_SETTING = {
  placeholder: "N",
  help: "Number of the proposal.",
  required: true,
  parse: (text: string) => BigInt(wholeNumber(1)(text)),
} as const;

/** The private keys of the validators that sign: all of the devnet's by `dev` alone. */
export function validatorsOf({
  validatorKeyFile,
  devValidator = validatorKeyFile,
  dev,
}: Values<typeof VALIDATOR_SETTINGS> & { readonly dev?: boolean | undefined }): Uint8Array[] {
  if (devValidator) return [devValidator];
  return dev ? devKeys.map(({ privateKey }) => hexToBytes(privateKey)) : [];
}

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
