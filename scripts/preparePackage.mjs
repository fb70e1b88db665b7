// Adds the licence to a package, and its types for CommonJS programs, before it is packed:  node ../../scripts/preparePackage.mjs
//
// Node requires ES modules since 20.19, so the code needs no second form. TypeScript takes a declaration for the form of the
// nearest package.json, and refuses `require` of an ES module under `node16`: the same declarations below a package.json of
// CommonJS are what it asks for.
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const dist = join(process.cwd(), "dist");
const commonJs = join(dist, "cjs");
rmSync(commonJs, { recursive: true, force: true });
for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".d.ts")) continue;
  mkdirSync(dirname(join(commonJs, file)), { recursive: true });
  copyFileSync(join(dist, file), join(commonJs, file));
}
copyFileSync(join(import.meta.dirname, "..", "LICENSE"), join(process.cwd(), "LICENSE"));
writeFileSync(join(commonJs, "package.json"), '{ "type": "commonjs" }\n');
