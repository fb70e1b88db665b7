import type { Command } from "../../command.js";
import { configLines, effectiveSettings } from "../../configCheck/effectiveSettings.js";
import { resolveServeConfig, SERVE_COMMAND_SETTINGS } from "../../serve/serveConfig.js";
import { UsageError } from "../../settings/readSettings.js";
import { JSON_SETTING } from "../../waivers/waiverSettings.js";

export const print: Command = {
  description:
    "The command takes the settings of serve and prints each with its value and its origin: default, environment, flag, or\n" +
    "the place in the file. Secrets are masked, and so is what may be secret in a URL.",
  examples: [
    "gas-waiver config print --config gas-waiver.yaml",
    "gas-waiver config print --json | jq '.port'",
  ],
  settings: { ...SERVE_COMMAND_SETTINGS, json: JSON_SETTING },
  async run(argv, context) {
    const { config, problems, others } = resolveServeConfig(argv, context.env, { json: JSON_SETTING });
    if (problems.length > 0) throw new UsageError(problems);
    const settings = effectiveSettings(config);
    if (others.json) {
      const all = settings.map(({ key, ...setting }) => [key, setting]);
      context.print(JSON.stringify(Object.fromEntries(all)));
    } else for (const line of configLines(settings)) context.print(line);
  },
};
