import type { KeyRecord, OpenKeyAdmin } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { keyLines } from "../../keys/keyOutput.js";
import { withKeys } from "../../keys/keySettings.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

/** The number of keys that one query reads. */
const PAGE_SIZE = 500;

export const list = defineCommand({
  description:
    "The list includes revoked and expired keys, in the order of their creation. It cannot show secrets, because\n" +
    "the store does not have them.",
  examples: [
    "gas-waiver keys list",
    "gas-waiver keys list --json | jq '.[] | select(.state == \"active\") | .label'",
  ],
  settings: STORE_SETTINGS,
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const records = await withKeys(values, allKeys);
    if (values.json) print(JSON.stringify(records));
    else if (records.length === 0) print("there is no key yet");
    else for (const line of records.flatMap(keyLines)) print(line);
  },
});

async function allKeys(keys: OpenKeyAdmin): Promise<KeyRecord[]> {
  const all: KeyRecord[] = [];
  for (;;) {
    const page = await keys.list({ after: all.at(-1)?.id, limit: PAGE_SIZE });
    all.push(...page);
    if (page.length < PAGE_SIZE) return all;
  }
}
