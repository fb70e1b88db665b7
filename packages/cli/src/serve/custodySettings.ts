import type { WaiverAccount } from "@gas-waiver/protocol";
import { privateKeyWaiver } from "@gas-waiver/server";
import { keyFile, privateKeys } from "../settings/parsers.js";
import type { Values } from "../settings/setting.js";

// The custodies of the waivers' keys (D33). Another custody is one file in the server's signing/, a setting here, and a
// line in splitWaivers.

/** The custodies that have a flag. */
export const CUSTODY_FLAGS = {
  waiverKeyFile: {
    flag: "waiver-key-file",
    env: "GAS_WAIVER_KEY_FILE",
    placeholder: "FILE",
    help: "File of the waivers' private keys, as hex, one a line. SIGHUP makes the service read it again.",
    parse: keyFile,
  },
} as const;

/** The custodies that have an environment variable alone. */
export const CUSTODY_VARIABLES = {
  waiverKeys: {
    env: "GAS_WAIVER_KEYS",
    help: "The waivers' private keys, as hex, separated by commas; instead of --waiver-key-file.",
    secret: true,
    parse: privateKeys,
  },
} as const;

/** One custody must be given. */
export const CUSTODIES = {
  keys: ["waiverKeyFile", "waiverKeys"],
  subject: "the list of the waivers' private keys",
  required: true,
} as const;

type CustodyValues = Values<typeof CUSTODY_FLAGS & typeof CUSTODY_VARIABLES>;

/** Makes the waivers' accounts, and separates the settings of custodies from the others. */
export function splitWaivers<V extends CustodyValues>(values: V) {
  const { waiverKeyFile, waiverKeys, ...otherValues } = values;
  const waivers: WaiverAccount[] = (waiverKeyFile?.keys ?? waiverKeys ?? []).map(privateKeyWaiver);
  return { waivers, otherValues };
}
