import { checksumAddress, hexToBytes } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { keystorePath } from "../../waivers/keystoreFiles.js";
import { FOLDER_SETTING, JSON_SETTING } from "../../waivers/waiverSettings.js";

export const list = defineCommand({
  description:
    "The command needs no passphrase: it prints the address that each keystore names, and its file.",
  examples: ["gas-waiver waivers list --folder keystore"],
  settings: { folder: { ...FOLDER_SETTING, parse: keystorePath }, json: JSON_SETTING },
  async run({ folder, json }, { print }) {
    const files = folder.map(({ path, keystore: { address, seal } }) => ({
      address: address === undefined ? undefined : checksumAddress(hexToBytes(`0x${address}`)),
      file: path,
      sealedBy: seal?.key,
    }));
    if (json) print(JSON.stringify(files));
    else
      for (const { address, file, sealedBy } of files) {
        const seal = sealedBy === undefined ? "" : `, sealed by ${sealedBy}`;
        print(`${address ?? "an address that it does not name"} in ${file}${seal}`);
      }
  },
});
