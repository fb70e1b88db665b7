import { configSchema } from "../../packages/cli/src/serve/configSchema.js";
import { adminPage } from "./adminPage.js";
import { clientPage } from "./clientPage.js";
import { commandsPage } from "./commandsPage.js";
import { errorsPage } from "./errorsPage.js";
import { exitStatusesPage } from "./exitStatusesPage.js";
import { httpPage } from "./httpPage.js";
import { limitsPage } from "./limitsPage.js";
import { metricsPage } from "./metricsPage.js";
import { settingsPage } from "./settingsPage.js";
import { websocketPage } from "./websocketPage.js";

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/errors.md": errorsPage,
  "docs/limits.md": limitsPage,
  "docs/reference/admin.md": adminPage,
  "docs/reference/client.md": clientPage,
  "docs/reference/commands.md": commandsPage,
  "docs/reference/exit-statuses.md": exitStatusesPage,
  "docs/reference/http.md": httpPage,
  "docs/reference/metrics.md": metricsPage,
  "docs/reference/settings.md": settingsPage,
  "docs/reference/websocket.md": websocketPage,
};

/** The text of each file that is made from the code, by its path from the root of the repository. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const [path, render] of Object.entries(PAGES)) files.set(path, await render());
  files.set("packages/cli/gas-waiver.schema.json", `${JSON.stringify(configSchema(), null, 2)}\n`);
  return files;
}
