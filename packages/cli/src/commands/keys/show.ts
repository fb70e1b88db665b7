import { defineCommand } from "../../command.js";
import { printRecord } from "../../keys/keyOutput.js";
import { KEY_SETTING, withKeys } from "../../keys/keySettings.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const show = defineCommand({
  description: "The command shows the key's state, its times, and its own limits.",
  examples: ["gas-waiver keys show --key 0123456789abcdef"],
  settings: { key: KEY_SETTING, ...STORE_SETTINGS },
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    printRecord(await withKeys(values, (keys) => keys.show(values.key)), values.json, print);
  },
});
