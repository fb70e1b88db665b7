import { DEFAULT_OVERLAP_MS } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { printIssued } from "../../keys/keyOutput.js";
import { KEY_SETTING, withKeys } from "../../keys/keySettings.js";
import { duration } from "../../settings/parsers.js";
import { commandLineUser } from "../../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

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
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const { key, overlap = DEFAULT_OVERLAP_MS } = values;
    const issued = await withKeys(values, (keys) => keys.rotate(commandLineUser(), key, overlap));
    printIssued(issued, values.json, print);
  },
});
