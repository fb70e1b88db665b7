import type { KeyRecord, OpenKeyAdmin } from "@gas-waiver/server";
import { defineCommand } from "../command.js";
import { wholeNumber } from "../settings/parsers.js";
import { describeChange, describeKey } from "./describeKey.js";
import { KEY_SETTING, withKeys } from "./keySettings.js";
import { ONE_STORE, STORE_SETTINGS } from "./openStore.js";

/** Keys that are read at once. */
const PAGE = 500;

export const list = defineCommand({
  description:
    "Revoked and expired ones too, in the order of their creation. Secrets are not shown: nobody has them.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys list\n" +
    "  gas-waiver keys list --json | jq '.[] | select(.state == \"active\") | .label'",
  settings: STORE_SETTINGS,
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const records = await withKeys(values, allKeys);
    if (values.json) print(JSON.stringify(records));
    else if (records.length === 0) print("there is no key yet");
    else for (const line of records.flatMap(describeKey)) print(line);
  },
});

async function allKeys(keys: OpenKeyAdmin): Promise<KeyRecord[]> {
  const all: KeyRecord[] = [];
  for (;;) {
    const page = await keys.list({ after: all.at(-1)?.id, limit: PAGE });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

export const show = defineCommand({
  description:
    "Its state, its times, and what is set for it.\n\nExample:\n  gas-waiver keys show --key 0123456789abcdef",
  settings: { key: KEY_SETTING, ...STORE_SETTINGS },
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const record = await withKeys(values, (keys) => keys.show(values.key));
    if (values.json) print(JSON.stringify(record));
    else for (const line of describeKey(record)) print(line);
  },
});

export const audit = defineCommand({
  description:
    "The latest first. Entries are never changed or removed, and hold no secret.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys audit\n" +
    "  gas-waiver keys audit --key 0123456789abcdef --limit 10 --json",
  settings: {
    key: { ...KEY_SETTING, required: false },
    limit: {
      flag: "limit",
      placeholder: "N",
      help: "How many changes.",
      initial: "100",
      parse: wholeNumber(1, 10_000),
    },
    ...STORE_SETTINGS,
  },
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const { key: keyId, limit } = values;
    const entries = await withKeys(values, (keys) => keys.audit({ keyId, limit }));
    if (values.json) print(JSON.stringify(entries));
    else for (const line of entries.flatMap(describeChange)) print(line);
  },
});
