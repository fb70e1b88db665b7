import { defineCommand } from "../../command.js";
import { configSchema } from "../../serve/configSchema.js";

export const schema = defineCommand({
  description:
    "Editors complete and check the configuration file by this schema. Name it in the file's first line:\n" +
    "# yaml-language-server: $schema=gas-waiver.schema.json",
  examples: ["gas-waiver config schema >gas-waiver.schema.json"],
  settings: {},
  async run(_values, { print }) {
    print(JSON.stringify(configSchema(), null, 2));
  },
});
