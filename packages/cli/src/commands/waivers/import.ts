import { bytesToHex, checksumAddress, privateKeyToAddress } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { CommandFailedError } from "../../errorMessage.js";
import { keyFile } from "../../settings/parsers.js";
import { findKeystore } from "../../waivers/keystoreFiles.js";
import { PASSPHRASE_SETTINGS } from "../../waivers/passphrase.js";
import { storeKey } from "../../waivers/storeKey.js";
import {
  FOLDER_SETTING,
  JSON_SETTING,
  NEW_PASSPHRASE_ALTERNATIVES,
  SEAL_SETTING,
} from "../../waivers/waiverSettings.js";

export const importKey = defineCommand({
  description:
    "The command encrypts a private key that lies in a file. Destroy that file afterwards. It refuses a key that the folder has.",
  examples: ["gas-waiver waivers import --key-file waiver.key --folder keystore"],
  settings: {
    keyFile: {
      placeholder: "FILE",
      help: "File of the private key, as hex.",
      required: true,
      parse: keyFile,
    },
    folder: FOLDER_SETTING,
    ...PASSPHRASE_SETTINGS,
    seal: SEAL_SETTING,
    json: JSON_SETTING,
  },
  rules: { alternatives: [NEW_PASSPHRASE_ALTERNATIVES] },
  async run(values, context) {
    const { path, keys } = values.keyFile;
    const [key] = keys;
    if (key === undefined || keys.length > 1) {
      throw new CommandFailedError(`${path} holds ${keys.length} private keys; import them one by one`);
    }
    const address = privateKeyToAddress(key);
    const existing = findKeystore(values.folder, bytesToHex(address).slice(2));
    if (existing !== undefined)
      throw new CommandFailedError(`${existing} has the key of ${checksumAddress(address)} already`);
    await storeKey(key, values, context);
  },
});
