import { randomBytes } from "node:crypto";
import { defineCommand } from "../../command.js";
import { PASSPHRASE_SETTINGS } from "../../waivers/passphrase.js";
import { storeKey } from "../../waivers/storeKey.js";
import {
  FOLDER_SETTING,
  JSON_SETTING,
  NEW_PASSPHRASE_ALTERNATIVES,
  SEAL_SETTING,
} from "../../waivers/waiverSettings.js";

export const create = defineCommand({
  description:
    "The command makes a private key and writes it, encrypted under a passphrase, as a file that geth, ethers and\n" +
    "Web3Signer read. The key itself is never shown. Keep a copy of the file and the passphrase apart from each other.\n" +
    "With --seal nobody knows the passphrase: the service has the key management service decrypt it at each start.",
  examples: [
    "gas-waiver waivers create --folder keystore",
    "gas-waiver waivers create --folder keystore --seal arn:aws:kms:eu-central-1:111122223333:alias/seal",
  ],
  settings: { folder: FOLDER_SETTING, ...PASSPHRASE_SETTINGS, seal: SEAL_SETTING, json: JSON_SETTING },
  rules: { alternatives: [NEW_PASSPHRASE_ALTERNATIVES] },
  async run(values, context) {
    // A random number that is no key (0, or not below the order of the curve) does not come.
    await storeKey(randomBytes(32), values, context);
  },
});
