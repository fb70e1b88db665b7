import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { EXAMPLES, REASON_NOTES, ROUTE_DEFINITIONS, SCHEMAS } from "@gas-waiver/protocol/description";
import { build, type Rollup } from "vite";
import { describe, expect, it } from "vitest";
import { SOURCES } from "../../../scripts/sources.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The name of the bundle's entry. The test gives its text; there is no such file. */
const ENTRY = join(ROOT, "src", "bundled.ts");

interface Bundle {
  readonly code: string;
  /** Bytes. */
  readonly gzipped: number;
  /** The modules inside, and those that the bundle imports. */
  readonly modules: string[];
}

/** Bundles an entry of this text for browsers. */
async function bundleOf(text: string): Promise<Bundle> {
  const result = await build({
    root: ROOT,
    configFile: false,
    logLevel: "error",
    resolve: { alias: SOURCES, conditions: ["browser"] },
    build: {
      write: false,
      minify: true,
      target: "es2022",
      lib: { entry: ENTRY, formats: ["es"] },
    },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === ENTRY ? ENTRY : undefined),
        load: (id) => (id === ENTRY ? text : undefined),
      },
    ],
  });
  const outputs = (Array.isArray(result) ? result : [result]) as Rollup.RollupOutput[];
  const chunks = outputs.flatMap(({ output }) => output).filter((chunk) => chunk.type === "chunk");
  const code = chunks.map((chunk) => chunk.code).join("");
  return {
    code,
    gzipped: gzipSync(code).length,
    modules: chunks.flatMap((chunk) => [...Object.keys(chunk.modules), ...chunk.imports]),
  };
}

/** The sentences and hex strings in a value, cut where a minifier may write a character in another way. */
function longTexts(value: unknown): string[] {
  return JSON.stringify(value).match(/[\w ,.:;()-]{30,}/g) ?? [];
}

const DESCRIPTIONS = longTexts([ROUTE_DEFINITIONS, REASON_NOTES, SCHEMAS, EXAMPLES]);

const HEAVY = /node_modules\/(?:viem|ethers|@noble|ox|react|wagmi|@tanstack)\/|\/src\/(?:crypto|hooks)\//;

/** The modules of the protocol that only describe the wire. */
const DESCRIPTIVE = [
  /\/description\//,
  /\/wire\/schema\.ts$/,
  /\/reasons\/notes\.ts$/,
  /\/reasons\/detailNotes\.ts$/,
];

describe("a bundle", () => {
  it("of submit alone is under 15 kB gzipped", async () => {
    const { gzipped } = await bundleOf('export { createConnection, submit } from "./index.js";');
    expect(gzipped).toBeGreaterThan(1_000);
    expect(gzipped).toBeLessThan(15_000);
  });

  it.each([
    ["createWaiverClient", 12_000],
    ["gaslessProvider", 8_000],
  ])("of %s alone is under %i bytes gzipped", async (name, bytes) => {
    const { gzipped } = await bundleOf(`export { ${name} } from "./index.js";`);
    expect(gzipped).toBeGreaterThan(1_000);
    expect(gzipped).toBeLessThan(bytes);
  });

  it("of the main entry has no wallet library, no React and no cryptography", async () => {
    const { modules, gzipped } = await bundleOf('export * from "./index.js";');
    expect(modules.some((id) => id.endsWith("/submit.ts"))).toBe(true);
    expect(modules.filter((id) => HEAVY.test(id))).toEqual([]);
    // No page imports all of it.
    expect(gzipped).toBeLessThan(20_000);
  });

  it("of the main entry has no descriptions of the wire", async () => {
    const { modules } = await bundleOf('export * from "./index.js";');
    expect(modules.filter((id) => DESCRIPTIVE.some((file) => file.test(id)))).toEqual([]);
  });

  it("of the main entry has no schema, sample or text of the wire in it", async () => {
    const { code } = await bundleOf('export * from "./index.js";');
    expect(DESCRIPTIONS.length).toBeGreaterThan(300);
    expect(DESCRIPTIONS.filter((text) => code.includes(text))).toEqual([]);
    const all = await bundleOf('export * from "@gas-waiver/protocol/description";');
    // The test above would see each of these modules.
    expect(DESCRIPTIVE.filter((file) => !all.modules.some((id) => file.test(id)))).toEqual([]);
    // A few of them are put together from parts at run time.
    expect(DESCRIPTIONS.filter((text) => !all.code.includes(text)).length).toBeLessThan(10);
  });

  it("of the self-hosted entry has the cryptography, so the tests above would see it", async () => {
    const { modules } = await bundleOf('export * from "./selfHosted.js";');
    expect(modules.some((id) => HEAVY.test(id))).toBe(true);
  });

  it("leaves out functions that are not imported", async () => {
    const { modules } = await bundleOf('export { health } from "./index.js";');
    expect(modules.filter((id) => /\/(?:submit|wait|ndjson)\.ts$/.test(id))).toEqual([]);
  });
});
