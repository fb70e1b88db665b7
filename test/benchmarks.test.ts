// The benchmarks are plain JavaScript on the built packages, where no compiler notices a renamed file or export.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { expect, it } from "vitest";
import { filesIn, isCode, root } from "./support/sourceCode.js";

interface BuiltImport {
  readonly file: string;
  /** The source of the built file, from the root. */
  readonly source: string;
  readonly names: readonly string[];
}

const builtImports = filesIn("bench")
  .filter(isCode)
  .flatMap((file): BuiltImport[] => {
    const { module } = parseSync(file, readFileSync(join(root, file), "utf8"));
    return module.staticImports.flatMap(({ moduleRequest, entries }) => {
      const path = /\/(packages\/.*)\/dist\/(.*)\.js$/.exec(moduleRequest.value);
      const names = entries.flatMap(({ importName }) => importName.name ?? []);
      return path === null ? [] : [{ file, source: `${path[1]}/src/${path[2]}.ts`, names }];
    });
  });

it.each(builtImports)("$file imports exports of $source", async ({ source, names }) => {
  const module: object = await import(join(root, source));
  expect(Object.keys(module)).toEqual(expect.arrayContaining([...names]));
});
