import { bytesToHex } from "@gas-waiver/protocol";
import { defineCommand } from "../../command.js";
import { CommandFailedError } from "../../errorMessage.js";
import { text } from "../../settings/parsers.js";
import { writeSecretFile } from "../../waivers/keystoreFiles.js";
import { openKeystore } from "../../waivers/openKeystore.js";
import { PASSPHRASE_SETTINGS, readPassphrase } from "../../waivers/passphrase.js";
import { JSON_SETTING, KEYSTORE_SETTING, PASSPHRASE_ALTERNATIVES } from "../../waivers/waiverSettings.js";

export const exportKey = defineCommand({
  description:
    "The command writes the private key of a keystore to a new file, as hex, unencrypted, for its owner alone. It never\n" +
    "shows it.",
  examples: ["gas-waiver waivers export --keystore keystore/UTC--… --out waiver.key"],
  settings: {
    keystore: KEYSTORE_SETTING,
    out: {
      placeholder: "FILE",
      help: "File to write; it must not exist.",
      required: true,
      parse: text,
    },
    ...PASSPHRASE_SETTINGS,
    json: JSON_SETTING,
  },
  rules: { alternatives: [PASSPHRASE_ALTERNATIVES] },
  async run(values, context) {
    const [file, ...others] = values.keystore;
    if (file === undefined || others.length > 0)
      throw new CommandFailedError("--keystore names no single file");
    const passphrase = () => readPassphrase(values, context);
    const fail = (reason: string) => new CommandFailedError(`${file.path} ${reason}`);
    const key = await openKeystore(file, passphrase, fail);
    await writeSecretFile(values.out, `${bytesToHex(key)}\n`);
    context.print(
      values.json ? JSON.stringify({ file: values.out }) : `the private key is in ${values.out}, unencrypted`,
    );
  },
});
