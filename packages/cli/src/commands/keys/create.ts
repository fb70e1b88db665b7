import { DEFAULT_PUBLISHABLE_CAPS, DEFAULT_SENDER_CAPS } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { printIssued } from "../../keys/keyOutput.js";
import { keyInput, LABEL_SETTING, TERM_SETTINGS, withKeys } from "../../keys/keySettings.js";
import { printChecksumWarning } from "../../settings/checksumWarning.js";
import { switchedOn, text } from "../../settings/parsers.js";
import { commandLineUser } from "../../store/commandLineUser.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

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
      parse: switchedOn,
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
  rules: { alternatives: STORE_ALTERNATIVES },
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
