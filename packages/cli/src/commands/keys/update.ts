import { defineCommand } from "../../command.js";
import { printRecord } from "../../keys/keyOutput.js";
import { KEY_SETTING, keyInput, LABEL_SETTING, TERM_SETTINGS, withKeys } from "../../keys/keySettings.js";
import { printChecksumWarning } from "../../settings/checksumWarning.js";
import { commandLineUser } from "../../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const update = defineCommand({
  description:
    "The command changes only the limits and settings whose flags are given; `none` removes one. All replicas apply\n" +
    "the change within a second, to open connections as well.",
  examples: [
    "gas-waiver keys update --key 0123456789abcdef --rate 200 --rate-burst 400",
    "gas-waiver keys update --key 0123456789abcdef --daily-gas none --expires 2030-01-31T00:00:00Z",
  ],
  settings: { key: KEY_SETTING, label: LABEL_SETTING, ...TERM_SETTINGS, ...STORE_SETTINGS },
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const record = await withKeys(values, async (keys) =>
      keys.update(commandLineUser(), values.key, await keyInput(values, keys)),
    );
    printRecord(record, values.json, print);
    printChecksumWarning(values.allowedTargets, { json: values.json, print });
  },
});
