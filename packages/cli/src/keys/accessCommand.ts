import type { KeyAdmin } from "@gas-waiver/server";
import { type Command, defineCommand } from "../command.js";
import { commandLineUser } from "../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../store/withStore.js";
import { printRecord } from "./keyOutput.js";
import { KEY_SETTING, withKeys } from "./keySettings.js";

/** A command that takes only a key and changes whether the service accepts it. */
export function accessCommand(action: "disable" | "enable" | "revoke", description: string): Command {
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
