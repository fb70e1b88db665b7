import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Rolldown } from "vite";
import { describe, expect, it } from "vitest";
import { SOURCES } from "../../../scripts/sources.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));

/** Lists the imports of a module at run time, those of its imports included: files below src, and bare names. */
function importsOf(entry: string, visited = new Set<string>()): Set<string> {
  if (visited.has(entry)) return visited;
  visited.add(entry);
  const text = readFileSync(join(root, entry), "utf8");
  for (const [, from = ""] of text.matchAll(/^(?:import|export)\s(?!type\s)[^;]*?from "([^"]+)";/gm)) {
    if (from.startsWith(".")) importsOf(join(dirname(entry), from.replace(/\.js$/, ".ts")), visited);
    else visited.add(from);
  }
  return visited;
}

/** Bundles the package as a browser's bundler resolves it: no `node` condition. */
async function bundleForBrowsers(entry: string, minify = false): Promise<Rolldown.OutputChunk> {
  const result = await build({
    configFile: false,
    logLevel: "error",
    resolve: { alias: SOURCES, conditions: ["module", "browser"] },
    build: { write: false, minify, lib: { entry: join(root, entry), formats: ["es"] } },
  });
  const output = [result].flat().flatMap((item) => ("output" in item ? item.output : []));
  const chunks = output.filter((item) => item.type === "chunk");
  expect(chunks).toHaveLength(1);
  const [chunk] = chunks;
  if (chunk === undefined) throw new Error("nothing was built");
  return chunk;
}

describe("@gas-waiver/protocol/wire", () => {
  it("imports no cryptography, and nothing from outside the package", () => {
    const imports = [...importsOf("wire/index.ts")];
    expect(imports).toContain("wire/routes/submit.ts");
    expect(imports).toContain("reasons/index.ts");
    expect(imports.filter((name) => name.includes("crypto") || !name.endsWith(".ts"))).toEqual([]);
  });

  it("differs from the main entry, in which the same search finds the cryptography", () => {
    expect([...importsOf("index.ts")]).toContain("crypto/javascript.ts");
  });
});

describe("the package in a browser", () => {
  it("is pure JavaScript, and works", async () => {
    const chunk = await bundleForBrowsers("index.ts");
    const modules = Object.keys(chunk.modules).map((id) => relative(root, id));
    expect(modules).toContain(join("crypto", "javascript.ts"));
    expect(modules.filter((name) => name.includes("native"))).toEqual([]);
    expect(chunk.imports).toEqual([]);
    expect(chunk.code).not.toMatch(/["'](node:|secp256k1|hash-wasm)/);

    const url = `data:text/javascript;base64,${Buffer.from(chunk.code).toString("base64")}`;
    const browser: typeof import("./index.js") = await import(/* @vite-ignore */ url);
    expect(browser.crypto.name).toBe("javascript");
    expect(browser.checksumAddress(browser.privateKeyToAddress(new Uint8Array(32).fill(0x46)))).toBe(
      "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F",
    );
  });

  it("has a wire of less than 32 kB, minified, with what reads reverts", async () => {
    const chunk = await bundleForBrowsers("wire/index.ts", true);
    expect(chunk.imports).toEqual([]);
    expect(chunk.code.length).toBeLessThan(32_000);
  });
});
