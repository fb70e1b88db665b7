import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Rollup } from "vite";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The name of the bundle's entry. The test gives its text; there is no such file. */
const ENTRY = join(ROOT, "src", "bundled.ts");

/** Bundles these imports for browsers. Returns the size, and the modules in the bundle or left outside. */
async function bundleOf(code: string): Promise<{ readonly gzipped: number; readonly modules: string[] }> {
  const result = await build({
    root: ROOT,
    configFile: false,
    logLevel: "error",
    resolve: { conditions: ["source", "browser"] },
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
        load: (id) => (id === ENTRY ? code : undefined),
      },
    ],
  });
  const outputs = (Array.isArray(result) ? result : [result]) as Rollup.RollupOutput[];
  const chunks = outputs.flatMap(({ output }) => output).filter((chunk) => chunk.type === "chunk");
  return {
    gzipped: gzipSync(chunks.map((chunk) => chunk.code).join("")).length,
    modules: chunks.flatMap((chunk) => [...Object.keys(chunk.modules), ...chunk.imports]),
  };
}

const HEAVY = /node_modules\/(?:viem|ethers|@noble|ox)\/|\/crypto\//;

describe("a bundle", () => {
  it("of submit alone is under 15 kB gzipped", async () => {
    const { gzipped } = await bundleOf('export { createConnection, submit } from "./index.js";');
    expect(gzipped).toBeGreaterThan(1_000);
    expect(gzipped).toBeLessThan(15_000);
  });

  it("of the main entry has no wallet library and no cryptography", async () => {
    const { modules, gzipped } = await bundleOf('export * from "./index.js";');
    expect(modules.some((id) => id.endsWith("/submit.ts"))).toBe(true);
    expect(modules.filter((id) => HEAVY.test(id))).toEqual([]);
    expect(gzipped).toBeLessThan(15_000);
  });

  it("of the main entry has no descriptions of the wire", async () => {
    const { modules } = await bundleOf('export * from "./index.js";');
    expect(modules.filter((id) => /\/(?:description|schema)\//.test(id))).toEqual([]);
  });

  it("of the self-hosted entry has the cryptography, so its absence above is no blind spot of the test", async () => {
    const { modules } = await bundleOf('export * from "./selfHosted.js";');
    expect(modules.some((id) => HEAVY.test(id))).toBe(true);
  });

  it("leaves out functions that are not imported", async () => {
    const { modules } = await bundleOf('export { health } from "./index.js";');
    expect(modules.filter((id) => /\/(?:submit|wait|ndjson)\.ts$/.test(id))).toEqual([]);
  });
});
