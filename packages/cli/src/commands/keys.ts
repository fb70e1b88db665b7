import {
  DEFAULT_OVERLAP_MS,
  DEFAULT_PUBLISHABLE_CAPS,
  DEFAULT_SENDER_CAPS,
  type KeyAdmin,
  type KeyRecord,
  type OpenKeyAdmin,
} from "@gas-waiver/server";
import { type Command, defineCommand } from "../command.js";
import { keyLines, printIssued, printRecord } from "../keys/keyOutput.js";
import { KEY_SETTING, keyInput, LABEL_SETTING, TERM_SETTINGS, withKeys } from "../keys/keySettings.js";
import { printChecksumWarning } from "../settings/checksumWarning.js";
import { duration, text, wholeNumber } from "../settings/parsers.js";
import { commandLineUser, STORE_SETTINGS } from "../store/withStore.js";
import { auditLines } from "./audit.js";

export const create = defineCommand({
  description:
    "The command prints the key once; the store keeps only its hash. The service's own limits hold for the flags\n" +
    "that are not given.",
  examples: [
    "gas-waiver keys create --label 'Shop, production' --rate 50 --daily-gas 5000000000",
    "gas-waiver keys create --label partner --expires 30d --allowed-targets partner.json --json",
    "gas-waiver keys create --label app --publishable --origins https://app.example.com,wallets \\\n  --allowed-targets 0x78Cf24370174180738C5B8E352B6D14c83a6c9A9:0xa9059cbb",
  ],
  settings: {
    label: { ...LABEL_SETTING, required: true },
    publishable: {
      help: "Make a key that everybody may see, for pages and wallets. It needs --origins and --allowed-targets, and has caps for each sender and a rate for each address.",
    },
    env: {
      placeholder: "NAME",
      help: "Environment in the key's prefix, after `gw_` or `gwp_`: up to 16 lower-case letters and digits.",
      defaultText: "live on mainnet, test elsewhere; needed before the service's first start",
      parse: text,
    },
    ...TERM_SETTINGS,
    transactions: {
      ...TERM_SETTINGS.transactions,
      defaultText: `none, or ${DEFAULT_PUBLISHABLE_CAPS.transactions} with --publishable`,
    },
    gas: {
      ...TERM_SETTINGS.gas,
      defaultText: `none, or ${DEFAULT_PUBLISHABLE_CAPS.gas} with --publishable`,
    },
    senderTransactions: {
      ...TERM_SETTINGS.senderTransactions,
      defaultText: `${DEFAULT_SENDER_CAPS.senderTransactions}, or ${DEFAULT_PUBLISHABLE_CAPS.senderTransactions} with --publishable`,
    },
    senderGas: {
      ...TERM_SETTINGS.senderGas,
      defaultText: `${DEFAULT_SENDER_CAPS.senderGas}, or ${DEFAULT_PUBLISHABLE_CAPS.senderGas} with --publishable`,
    },
    ...STORE_SETTINGS,
  },
  async run(values, { print }) {
    const issued = await withKeys(values, async (keys) => {
      const input = {
        ...(await keyInput(values, keys)),
        ...(values.env !== undefined && { env: values.env }),
        ...(values.publishable && { publishable: true }),
      };
      return keys.create(commandLineUser(), input);
    });
    printIssued(issued, values.json, print);
    printChecksumWarning(values.allowedTargets, { json: values.json, print });
  },
});

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

export const show = defineCommand({
  description: "The command shows the key's state, its times, and its own limits.",
  examples: ["gas-waiver keys show --key 0123456789abcdef"],
  settings: { key: KEY_SETTING, ...STORE_SETTINGS },
  async run(values, { print }) {
    printRecord(await withKeys(values, (keys) => keys.show(values.key)), values.json, print);
  },
});

export const update = defineCommand({
  description:
    "The command changes only the limits and settings whose flags are given; `none` removes one. All replicas apply\n" +
    "the change within a second, to open connections as well.",
  examples: [
    "gas-waiver keys update --key 0123456789abcdef --rate 200 --rate-burst 400",
    "gas-waiver keys update --key 0123456789abcdef --daily-gas none --expires 2030-01-31T00:00:00Z",
  ],
  settings: { key: KEY_SETTING, label: LABEL_SETTING, ...TERM_SETTINGS, ...STORE_SETTINGS },
  async run(values, { print }) {
    const record = await withKeys(values, async (keys) =>
      keys.update(commandLineUser(), values.key, await keyInput(values, keys)),
    );
    printRecord(record, values.json, print);
    printChecksumWarning(values.allowedTargets, { json: values.json, print });
  },
});

export const rotate = defineCommand({
  description:
    "The command prints the new key once. The old secret stays valid until the overlap is over; then its\n" +
    "connections close. A second rotation within the overlap ends the oldest secret at once.",
  examples: [
    "gas-waiver keys rotate --key 0123456789abcdef",
    "gas-waiver keys rotate --key 0123456789abcdef --overlap 0      # the old secret is stolen: end it now",
  ],
  settings: {
    key: KEY_SETTING,
    overlap: {
      placeholder: "DURATION",
      help: "Time that the old secret stays valid, such as 0, 30m, 24h or 7d.",
      defaultText: "24h",
      parse: duration,
    },
    ...STORE_SETTINGS,
  },
  async run(values, { print }) {
    const { key, overlap = DEFAULT_OVERLAP_MS } = values;
    const issued = await withKeys(values, (keys) => keys.rotate(commandLineUser(), key, overlap));
    printIssued(issued, values.json, print);
  },
});

/** A command that takes only a key and changes whether the service accepts it. */
function accessCommand(action: "disable" | "enable" | "revoke", description: string): Command {
  return defineCommand({
    description,
    examples: [`gas-waiver keys ${action} --key 0123456789abcdef`],
    settings: { key: KEY_SETTING, ...STORE_SETTINGS },
    async run(values, { print }) {
      const act = (keys: KeyAdmin) => keys[action](commandLineUser(), values.key);
      printRecord(await withKeys(values, act), values.json, print);
    },
  });
}

export const disable = accessCommand(
  "disable",
  "All replicas refuse the key within a second and end its open connections and streams.\n" +
    "Submissions that were accepted go on.",
);

export const enable = accessCommand("enable", "All replicas accept the key again within a second.");

export const revoke = accessCommand(
  "revoke",
  "All replicas refuse the key within a second and end its open connections and streams. A revoked key stays\n" +
    "revoked. Submissions that were accepted go on.",
);

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
  async run(values, { print }) {
    const { key: keyId, limit } = values;
    const entries = await withKeys(values, (keys) => keys.audit({ keyId, ofKeys: true, limit }));
    if (values.json) print(JSON.stringify(entries));
    else for (const line of entries.flatMap(auditLines)) print(line);
  },
});
