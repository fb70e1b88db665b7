import { DEFAULT_OVERLAP_MS, type IssuedKey, type KeyAdmin, type KeyRecord } from "@gas-waiver/server";
import { type Context, defineCommand } from "../command.js";
import { duration, text } from "../settings/parsers.js";
import { describeKey } from "./describeKey.js";
import {
  commandLineUser,
  KEY_SETTING,
  keyInput,
  LABEL_SETTING,
  TERM_SETTINGS,
  withKeys,
} from "./keySettings.js";
import { ONE_STORE, STORE_SETTINGS } from "./openStore.js";

export const create = defineCommand({
  description:
    "The key is printed once; only its hash is kept. What is not set for it is as the service has it.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys create --label 'Shop, production' --rate 50 --daily-gas 5000000000\n" +
    "  gas-waiver keys create --label partner --expires 30d --allowed-targets partner.json --json",
  settings: {
    label: { ...LABEL_SETTING, required: true },
    env: {
      flag: "env",
      placeholder: "NAME",
      help: "The part of the key after `gw_`: up to 16 lower-case letters and digits.",
      defaultText: "live on mainnet, test elsewhere",
      parse: text,
    },
    ...TERM_SETTINGS,
    ...STORE_SETTINGS,
  },
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const issued = await withKeys(values, async (keys) => {
      const input = {
        ...(await keyInput(values, keys)),
        ...(values.env !== undefined && { env: values.env }),
      };
      return keys.create(commandLineUser(), input);
    });
    printIssued(issued, values.json === true, print);
  },
});

function printIssued(issued: IssuedKey, json: boolean, print: Context["print"]): void {
  if (json) {
    print(JSON.stringify(issued));
    return;
  }
  print(issued.key);
  print("Keep it: it is not shown again.");
  for (const line of describeKey(issued.record)) print(line);
}

export const update = defineCommand({
  description:
    "What is not named stays; `none` unsets. It binds on all replicas within a second, also on open connections.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys update --key 0123456789abcdef --rate 200 --rate-burst 400\n" +
    "  gas-waiver keys update --key 0123456789abcdef --daily-gas none --expires 2030-01-31T00:00:00Z",
  settings: { key: KEY_SETTING, label: LABEL_SETTING, ...TERM_SETTINGS, ...STORE_SETTINGS },
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const record = await withKeys(values, async (keys) =>
      keys.update(commandLineUser(), values.key, await keyInput(values, keys)),
    );
    printRecord(record, values.json === true, print);
  },
});

function printRecord(record: KeyRecord, json: boolean, print: Context["print"]): void {
  if (json) print(JSON.stringify(record));
  else for (const line of describeKey(record)) print(line);
}

export const rotate = defineCommand({
  description:
    "The new key is printed once. The old secret is good until the overlap is over, and its connections are\n" +
    "closed then; a second rotation within the overlap ends the oldest at once.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys rotate --key 0123456789abcdef\n" +
    "  gas-waiver keys rotate --key 0123456789abcdef --overlap 0      # the old one is stolen: end it now",
  settings: {
    key: KEY_SETTING,
    overlap: {
      flag: "overlap",
      placeholder: "SPAN",
      help: "How long the old secret stays good: 0, 30m, 24h, 7d, ….",
      defaultText: "24h",
      parse: duration,
    },
    ...STORE_SETTINGS,
  },
  agreement: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const { key, overlap = DEFAULT_OVERLAP_MS } = values;
    const issued = await withKeys(values, (keys) => keys.rotate(commandLineUser(), key, overlap));
    printIssued(issued, values.json === true, print);
  },
});

/** A command that lets a key in or keeps it out. */
function setter(action: "disable" | "enable" | "revoke", description: string) {
  return defineCommand({
    description: `${description}\n\nExample:\n  gas-waiver keys ${action} --key 0123456789abcdef`,
    settings: { key: KEY_SETTING, ...STORE_SETTINGS },
    agreement: { alternatives: ONE_STORE },
    async run(values, { print }) {
      const act = (keys: KeyAdmin) => keys[action](commandLineUser(), values.key);
      printRecord(await withKeys(values, act), values.json === true, print);
    },
  });
}

export const disable = setter(
  "disable",
  "It is refused on all replicas within a second, and its open connections and streams end. What was accepted goes on.",
);
export const enable = setter("enable", "It is taken again on all replicas within a second.");
export const revoke = setter(
  "revoke",
  "It is refused on all replicas within a second, and its open connections and streams end; there is no way back.\n" +
    "What was accepted goes on.",
);
