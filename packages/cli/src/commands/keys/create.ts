import { DEFAULT_SENDER_CAPS } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { printIssued } from "../../keys/keyOutput.js";
import { keyInput, LABEL_SETTING, TERM_SETTINGS, withKeys } from "../../keys/keySettings.js";
import { text } from "../../settings/parsers.js";
import { commandLineUser } from "../../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const create = defineCommand({
  description:
    "The command prints the key once; the store keeps only its hash. The service's own limits hold for the flags\n" +
    "that are not given.\n\n" +
    "Examples:\n" +
    "  gas-waiver keys create --label 'Shop, production' --rate 50 --daily-gas 5000000000\n" +
    "  gas-waiver keys create --label partner --expires 30d --allowed-targets partner.json --json",
  settings: {
    label: { ...LABEL_SETTING, required: true },
    env: {
      flag: "env",
      placeholder: "NAME",
      help: "Environment in the key's prefix, after `gw_`: up to 16 lower-case letters and digits.",
      defaultText: "live on mainnet, test elsewhere",
      parse: text,
    },
    ...TERM_SETTINGS,
    senderTransactions: {
      ...TERM_SETTINGS.senderTransactions,
      defaultText: String(DEFAULT_SENDER_CAPS.senderTransactions),
    },
    senderGas: { ...TERM_SETTINGS.senderGas, defaultText: String(DEFAULT_SENDER_CAPS.senderGas) },
    ...STORE_SETTINGS,
  },
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const issued = await withKeys(values, async (keys) => {
      const input = {
        ...(await keyInput(values, keys)),
        ...(values.env !== undefined && { env: values.env }),
      };
      return keys.create(commandLineUser(), input);
    });
    printIssued(issued, values.json, print);
  },
});
