import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./setup.mjs";

/**
 * Makes one program of a TypeScript module of the tests, with the test code that it imports. Imports of the packages, by their names or
 * by the paths of their sources, lead to the built files, which Node itself loads.
 * @param {string} path from the root of the repository: "test/simulation/worker.ts"
 * @param {string} name of the program in `node_modules/.cache`.
 * @returns {Promise<string>} the program's path.
 */
export async function bundleSource(path, name) {
  // Imported here because a fresh checkout has Vite only after `setUp`.
  const { build } = await import("vite");
  const outDir = join(root, "node_modules", ".cache", name);
  await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: [builtPackages()],
    ssr: { external: true },
    build: {
      ssr: path,
      outDir,
      emptyOutDir: true,
      minify: false,
      sourcemap: "inline",
      rolldownOptions: { output: { entryFileNames: "program.mjs" } },
    },
  });
  return join(outDir, "program.mjs");
}

function builtPackages() {
  const source = new RegExp(`^${join(root, "packages")}/([^/]+)/src/(.*)$`);
  return {
    name: "built-packages",
    enforce: "pre",
    resolveId(specifier, importer) {
      if (specifier.startsWith("@gas-waiver/")) return { id: specifier, external: true };
      const file = importer && specifier.startsWith(".") ? resolve(dirname(importer), specifier) : "";
      const [, name, inside] = file.match(source) ?? [];
      if (name === undefined) return undefined;
      const built = join(root, "packages", name, "dist", inside);
      return existsSync(built) ? { id: pathToFileURL(built).href, external: true } : undefined;
    },
  };
}
