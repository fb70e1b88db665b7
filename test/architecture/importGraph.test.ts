import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findCircles, folderGraph, type ImportGraph, readImports } from "./importGraph.js";

const folder = mkdtempSync(join(tmpdir(), "import-graph-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): string {
  const packageFolder = mkdtempSync(join(folder, "package-"));
  for (const [path, text] of Object.entries({ "package.json": "{}", ...files })) {
    mkdirSync(dirname(join(packageFolder, path)), { recursive: true });
    writeFileSync(join(packageFolder, path), text);
  }
  return packageFolder;
}

function asObject(graph: ImportGraph): Record<string, string[]> {
  return Object.fromEntries([...graph].map(([node, targets]) => [node, [...targets].sort()]));
}

describe("readImports", () => {
  it("finds every form of import, type-only ones too, and no import of another package", () => {
    const files = {
      "src/index.ts": 'export * from "./a/one.js";\nexport type { Two } from "./a/two.js";\n',
      "src/a/one.ts":
        'import type { Two } from "./two.js";\nimport "../b/three.js";\nimport { x } from "other";\n',
      "src/a/two.ts":
        'type Four = import("../b/four.js").Four;\nconst late = await import("../b/three.js");\n',
      "src/b/three.ts": 'import {\n  a,\n  b,\n} from "./four.js";\n',
      "src/b/four.ts": '/**\n * import { x } from "./three.js";\n */\n// import "./three.js";\n',
    };
    expect(asObject(readImports(write(files)))).toEqual({
      "index.ts": ["a/one.ts", "a/two.ts"],
      "a/one.ts": ["a/two.ts", "b/three.ts"],
      "a/two.ts": ["b/four.ts", "b/three.ts"],
      "b/three.ts": ["b/four.ts"],
      "b/four.ts": [],
    });
  });

  it("leaves tests and testing folders out, and follows the manifest's imports", () => {
    const files = {
      "package.json": JSON.stringify({ imports: { "#engine": { source: { node: "./src/x.ts" } } } }),
      "src/x.ts": "",
      "src/y.ts": 'import "#engine";\n',
      "src/y.test.ts": 'import "./y.js";\n',
      "src/testing/z.ts": 'import "../y.js";\n',
    };
    expect(asObject(readImports(write(files)))).toEqual({ "x.ts": [], "y.ts": ["x.ts"] });
  });

  it("refuses an import of a file that does not exist", () => {
    expect(() => readImports(write({ "src/x.ts": 'import "./gone.js";\n' }))).toThrow(
      "x.ts imports gone.ts, which do not exist",
    );
  });
});

describe("findCircles", () => {
  const graph = (arrows: Readonly<Record<string, readonly string[]>>) =>
    new Map(Object.entries(arrows).map(([from, to]) => [from, new Set(to)]));

  it("finds none where arrows only lead downwards", () => {
    expect(findCircles(graph({ a: ["b", "c"], b: ["c"], c: [] }))).toEqual([]);
  });

  it("finds a file that imports itself, and each circle once", () => {
    const circles = findCircles(graph({ a: ["b"], b: ["c"], c: ["a"], d: ["d"] }));
    expect(circles).toEqual([
      ["c", "a", "b", "c"],
      ["d", "d"],
    ]);
  });

  it("finds a circle of folders whose files have none", () => {
    const files = graph({ "a/1.ts": ["b/1.ts"], "b/1.ts": [], "b/2.ts": ["a/2.ts"], "a/2.ts": ["top.ts"] });
    expect(findCircles(files)).toEqual([]);
    expect(findCircles(folderGraph(files))).toEqual([["b", "a", "b"]]);
    expect(asObject(folderGraph(files)).a).toEqual(["b", "top"]);
  });
});
