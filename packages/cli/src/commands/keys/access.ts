import type { KeyAdmin } from "@gas-waiver/server";
import { type Command, defineCommand } from "../../command.js";
import { printRecord } from "../../keys/keyOutput.js";
import { KEY_SETTING, withKeys } from "../../keys/keySettings.js";
import { commandLineUser } from "../../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

/** A command that takes only a key and changes whether the service accepts it. */
function accessCommand(action: "disable" | "enable" | "revoke", description: string): Command {
  return defineCommand({
    description,
    examples: [`gas-waiver keys ${action} --key 0123456789abcdef`],
    settings: { key: KEY_SETTING, ...STORE_SETTINGS },
    rules: { alternatives: STORE_ALTERNATIVES },
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
