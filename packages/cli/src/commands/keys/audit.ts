import { auditLines } from "../../audit/auditOutput.js";
import { defineCommand } from "../../command.js";
import { KEY_SETTING, withKeys } from "../../keys/keySettings.js";
import { wholeNumber } from "../../settings/parsers.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const audit = defineCommand({
  description: "The latest change comes first. Entries never change, are never removed, and hold no secret.",
  examples: ["gas-waiver keys audit", "gas-waiver keys audit --key 0123456789abcdef --limit 10 --json"],
  settings: {
    key: { ...KEY_SETTING, required: false },
    limit: {
      placeholder: "N",
      help: "Most changes to show, from 1 to 10000.",
      defaultValue: "100",
      parse: wholeNumber(1, 10_000),
    },
    ...STORE_SETTINGS,
  },
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const { key: keyId, limit } = values;
    const entries = await withKeys(values, (keys) => keys.audit({ keyId, ofKeys: true, limit }));
    if (values.json) print(JSON.stringify(entries));
    else for (const line of entries.flatMap(auditLines)) print(line);
  },
});
