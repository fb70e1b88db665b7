import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix, relative } from "node:path";
import { root as repository, sourceCodeOf } from "../support/sourceCode.js";

/** Each file or folder with everything that it imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads the imports between the source files of a package, type-only imports and re-exports included. Tests and folders
 * named `testing` are left out.
 * @param packageFolder absolute; the sources are in its `src`.
 * @returns by path from `src`, such as `chain/block.ts`. Other packages are left out.
 */
export function readImports(packageFolder: string): ImportGraph {
  const sources = posix.join(packageFolder, "src");
  const aliases = readAliases(packageFolder);
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(isProduction);
  return new Map(
    files.sort().map((file) => {
      const { imports } = sourceCodeOf(relative(repository, posix.join(sources, file)));
      const imported = imports.flatMap((specifier) => {
        if (specifier.startsWith("#")) return aliases.get(specifier) ?? [];
        if (!specifier.startsWith(".")) return [];
        return posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
      });
      const missing = imported.filter((target) => !existsSync(posix.join(sources, target)));
      if (missing.length > 0) throw new Error(`${file} imports ${missing.join(", ")}, which do not exist`);
      return [file, new Set(imported)];
    }),
  );
}

function isProduction(file: string): boolean {
  return /\.ts$/.test(file) && !/\.test\.ts$/.test(file) && !file.split("/").includes("testing");
}

/** The source files that each name in the manifest's `imports` may stand for. */
function readAliases(packageFolder: string): ReadonlyMap<string, readonly string[]> {
  const manifest = JSON.parse(readFileSync(posix.join(packageFolder, "package.json"), "utf8"));
  const leaves = (value: unknown): string[] =>
    typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [String(value)];
  return new Map(
    Object.entries(manifest.imports ?? {}).map(([name, targets]) => [
      name,
      leaves(targets).flatMap((target) => /^\.\/src\/(.*\.ts)$/.exec(target)?.[1] ?? []),
    ]),
  );
}

/** The first-level folder of a file; a file that lies in no folder stands for itself, without its extension. */
export function folderOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : file.replace(/\.ts$/, "");
}

/** The same imports between first-level folders. A folder's imports of its own files are left out. */
export function folderGraph(files: ImportGraph): ImportGraph {
  const folders = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    const folder = folderOf(file);
    const targets = folders.get(folder) ?? new Set<string>();
    for (const target of imported) if (folderOf(target) !== folder) targets.add(folderOf(target));
    folders.set(folder, targets);
  }
  return folders;
}

/** @returns a shortest circle through each node that is in one, each circle once, as `a → b → a`. */
export function findCircles(graph: ImportGraph): string[][] {
  const circles = new Map<string, string[]>();
  for (const start of graph.keys()) {
    const circle = shortestPath(graph, start, start);
    if (circle !== undefined) circles.set([...new Set(circle)].sort().join(" "), circle);
  }
  return [...circles.values()];
}

/** Breadth first, at least one arrow long. */
function shortestPath(graph: ImportGraph, from: string, to: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [from];
  for (const node of queue) {
    for (const next of graph.get(node) ?? []) {
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      if (next === to) return pathBack(cameFrom, from, to);
      queue.push(next);
    }
  }
  return undefined;
}

function pathBack(cameFrom: ReadonlyMap<string, string>, from: string, to: string): string[] {
  const way = [to];
  for (let node = cameFrom.get(to); node !== undefined; node = cameFrom.get(node)) {
    way.unshift(node);
    if (node === from) break;
  }
  return way;
}
