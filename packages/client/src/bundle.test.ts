import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Rollup } from "vite";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** There is no such file: the test says what is in it. */
const ENTRY = join(ROOT, "src", "bundled.ts");

/** What a bundler for browsers makes of these imports: its size, and the modules in it or left outside. */
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

  it("of everything but the adapters has no wallet library and no cryptography in it", async () => {
    const { modules, gzipped } = await bundleOf('export * from "./index.js";');
    expect(modules.some((id) => id.endsWith("/submit.ts"))).toBe(true);
    expect(modules.filter((id) => HEAVY.test(id))).toEqual([]);
    expect(gzipped).toBeLessThan(15_000);
  });

  it("of everything but the adapters has no descriptions of the wire in it", async () => {
    const { modules } = await bundleOf('export * from "./index.js";');
    expect(modules.filter((id) => /\/(?:description|schema)\//.test(id))).toEqual([]);
  });

  it("of the part for waiver keys has the cryptography, which the other shows to be absent", async () => {
    const { modules } = await bundleOf('export * from "./selfHosted.js";');
    expect(modules.some((id) => HEAVY.test(id))).toBe(true);
  });

  it("leaves out what is not used", async () => {
    const { modules } = await bundleOf('export { health } from "./index.js";');
    expect(modules.filter((id) => /\/(?:submit|wait|ndjson)\.ts$/.test(id))).toEqual([]);
  });
});
