import { SERVE_SUBJECTS } from "../../packages/cli/src/serve/serveSettings.js";
import type { Setting } from "../../packages/cli/src/settings/setting.js";
import { settingsTable } from "./commandsPage.js";
import { page } from "./markdown.js";

/** docs/reference/settings.md */
export function settingsPage(): string {
  const sections = Object.entries(SERVE_SUBJECTS).map(
    ([subject, settings]) => `## ${subject}\n\n${settingsTable(Object.values<Setting<unknown>>(settings))}`,
  );
  return page(
    "packages/cli/src/serve",
    "Settings",
    "These are the settings of `gas-waiver serve`. Each can be given as the flag, as the variable below it, or in a [configuration file](../guides/configuration.md) under the name of the flag. The flag wins over the variable, and the variable over the file. Secrets have no flag, since arguments can be seen by others. Times are milliseconds.",
    "A setting that is wrong, or two that contradict each other, keep the service from starting; it names all of them at once, with status 2. [Limits](../limits.md) tells what happens beyond each limit. A running service takes over another value of those marked *Reloadable* when it [reads its settings again](../guides/configuration.md#change-it).",
    ...sections,
  );
}
