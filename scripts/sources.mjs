import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./install.mjs";

// Vite's aliases of the packages' entry points: the tests, and the programs that load sources, run on sources. A condition of the packages'
// `exports` would name files that no package has.
export const SOURCES = readdirSync(join(root, "packages")).flatMap((folder) => {
  const { name, exports } = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8"));
  return Object.entries(exports).flatMap(([path, { default: built }]) => {
    if (built === undefined) return [];
    const source = built.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts");
    return [
      { find: new RegExp(`^${name}${path.slice(1)}$`), replacement: join(root, "packages", folder, source) },
    ];
  });
});
