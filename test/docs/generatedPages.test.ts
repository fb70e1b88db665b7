// The files that are made from the code. `npm run docs:generate` writes them; the pages are not in git.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { flagOfOption } from "../../packages/cli/src/serve/optionSettings.js";
import { NODE_REASONS } from "../../packages/devnet/src/pool/refusedError.js";
import { REASONS } from "../../packages/protocol/src/reasons/index.js";
import { parseTerms } from "../../packages/server/src/model/keys/keyTerms.js";
import type { Option } from "../../packages/server/src/model/options/option.js";
import { OPTION_SUBJECTS } from "../../packages/server/src/model/options/optionTable.js";
import { generatedFiles } from "../../scripts/pages/index.js";
import { root } from "../support/program.js";

const SCHEMA = "packages/cli/gas-waiver.schema.json";
const files = await generatedFiles();
const pages = [...files].filter(([path]) => path !== SCHEMA);
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("the generated pages", () => {
  it.each(pages)("%s has a title, text, and no value that is missing", (_path, text) => {
    expect(text).toMatch(/^# \S.*\n\n/);
    expect(text.length).toBeGreaterThan(1_000);
    expect(text).not.toMatch(/^\|.*\bundefined\b|\[object Object\]|\bNaN\b/m);
  });

  it("are the same each time", async () => {
    expect([...(await generatedFiles())]).toEqual([...files]);
  });

  it("are not in git", () => {
    const paths = pages.map(([path]) => path);
    const ignored = execFileSync("git", ["check-ignore", ...paths], { cwd: root, encoding: "utf8" });
    expect(ignored.trim().split("\n").sort()).toEqual(paths.sort());
  });
});

describe("the reference", () => {
  it("has every reason: of the service, of a relay, and of a validating node", () => {
    const errors = files.get("docs/errors.md") ?? "";
    const anchors = [...errors.matchAll(/<a id="([a-z_]+)">/g)].map(([, name = ""]) => name.toUpperCase());
    const named = Object.keys(REASONS);
    expect([...new Set(anchors)].sort()).toEqual(
      [...new Set([...named, ...NODE_REASONS, "RELAY_REFUSED"])].sort(),
    );
    expect(read("packages/client/src/forwarding/refusal.ts")).toContain('reason: "RELAY_REFUSED"');
  });

  it("has every metric, those of a part that registers its own too: scripts/pages/metricsPage.ts calls that", () => {
    const server = "packages/server/src";
    const sources = readdirSync(join(root, server), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => read(join(server, file)))
      .filter((text) => text.includes(' from "prom-client"'));
    const named = new Set(sources.join("").match(/(?<=")gas_waiver_\w+(?=")/g));
    const metrics = files.get("docs/reference/metrics.md") ?? "";
    expect(named.size).toBeGreaterThan(30);
    expect([...named].filter((name) => !metrics.includes(`| \`${name}\` |`))).toEqual([]);
  });

  it("has every limit that callers meet, with what they meet: `beyond` of its option", () => {
    const limits = files.get("docs/limits.md") ?? "";
    const subjects = ["Requests", "Rates and queues", "The gateway", "Connections"] as const;
    const options = subjects.flatMap((subject) => Object.entries<Option<unknown>>(OPTION_SUBJECTS[subject]));
    const flags = options
      .filter(([, { form, isSetting = true }]) => form.kind === "limit" && isSetting)
      .map(([name]) => flagOfOption(name));
    expect(flags.filter((flag) => !limits.includes(`| \`${flag}\``))).toEqual([]);
  });

  it("has every member that creates a key over HTTP", () => {
    const admin = files.get("docs/reference/admin.md") ?? "";
    const [row = ""] = admin.split("\n").filter((line) => line.includes("`POST /admin/v1/keys`"));
    const terms = parseTerms({
      ...{ origins: ["*"], limits: { rateBurst: 1 }, allowedTargets: [{ address: "*" }] },
      caps: { senderTransactions: 1, senderGas: "1" },
    });
    for (const name of ["label", "env", "expiresAt", "publishable", ...Object.keys(terms)])
      expect(row).toContain(`\`${name}`);
  });
});

describe("the JSON Schema of the configuration file", () => {
  it("says what the code says", () => {
    expect(read(SCHEMA), "run `npm run docs:generate`").toBe(files.get(SCHEMA));
  });

  it("is part of the package", () => {
    expect(JSON.parse(read("packages/cli/package.json")).files).toContain("gas-waiver.schema.json");
  });
});
