// The pages of docs/ that are made from the code. `npm run docs:generate` writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../packages/cli/src/serve/configSchema.js";
import { adminPage } from "./pages/adminPage.js";
import { clientPage } from "./pages/clientPage.js";
import { commandsPage } from "./pages/commandsPage.js";
import { exitStatusesPage } from "./pages/exitStatusesPage.js";
import { httpPage } from "./pages/httpPage.js";
import { lifePictures } from "./pages/lifePictures.js";
import { limitsPage } from "./pages/limitsPage.js";
import { metricsPage } from "./pages/metricsPage.js";
import { settingsPage } from "./pages/settingsPage.js";
import { websocketPage } from "./pages/websocketPage.js";

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  "limits.md": limitsPage,
  "reference/admin.md": adminPage,
  "reference/client.md": clientPage,
  "reference/commands.md": commandsPage,
  "reference/exit-statuses.md": exitStatusesPage,
  "reference/http.md": httpPage,
  "reference/metrics.md": metricsPage,
  "reference/settings.md": settingsPage,
  "reference/websocket.md": websocketPage,
};

const docs = join(import.meta.dirname, "../../docs");

describe("the generated pages", () => {
  it.each(Object.entries(PAGES))("docs/%s says what the code says", async (file, render) => {
    await expect(await render()).toMatchFileSnapshot(join(docs, file));
  });
});

describe("the JSON Schema of the configuration file", () => {
  it("is made from the settings, and is part of the package", async () => {
    const file = join(docs, "../packages/cli/gas-waiver.schema.json");
    await expect(`${JSON.stringify(configSchema(), null, 2)}\n`).toMatchFileSnapshot(file);
    const { files } = JSON.parse(readFileSync(join(file, "../package.json"), "utf8"));
    expect(files).toContain("gas-waiver.schema.json");
  });
});

describe("the pictures of a submission's life", () => {
  it.each([...lifePictures()])(
    "docs/concepts/life/%s is what is drawn, and the page shows it",
    async (file, text) => {
      await expect(text).toMatchFileSnapshot(join(docs, "concepts/life", file));
      expect(readFileSync(join(docs, "concepts/life.md"), "utf8")).toContain(`](life/${file})`);
    },
  );
});
