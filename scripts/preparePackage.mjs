// Adds the licence to a package, its options' sentences to their types, and types for CommonJS programs, before it is packed:  node ../../scripts/preparePackage.mjs
//
// Node requires ES modules since 20.19, so the code needs no second form. TypeScript takes a declaration for the form of the
// nearest package.json, and refuses `require` of an ES module under `node16`: the same declarations below a package.json of
// CommonJS are what it asks for.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const dist = join(process.cwd(), "dist");
await describeOptions(join(dist, "model/options/optionTable"));
const commonJs = join(dist, "cjs");
rmSync(commonJs, { recursive: true, force: true });
for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".d.ts")) continue;
  mkdirSync(dirname(join(commonJs, file)), { recursive: true });
  copyFileSync(join(dist, file), join(commonJs, file));
}
copyFileSync(join(import.meta.dirname, "..", "LICENSE"), join(process.cwd(), "LICENSE"));
writeFileSync(join(commonJs, "package.json"), '{ "type": "commonjs" }\n');

/** Writes the sentence of each option above it in the declaration of the table, where an editor that hovers an option finds it. */
async function describeOptions(table) {
  if (!existsSync(`${table}.js`)) return;
  const { OPTIONS } = await import(pathToFileURL(`${table}.js`).href);
  const text = readFileSync(`${table}.d.ts`, "utf8");
  const described = text.replace(/^( +)readonly (\w+): import\("/gm, (line, indent, name) => {
    const { sentence, default: byDefault, defaultText = byDefault } = OPTIONS[name];
    const words = sentence.replace(/\{(\w+)\}/g, "`$1`");
    const ending = defaultText === undefined || `${defaultText}` === "" ? "" : ` Default: ${defaultText}.`;
    return `${indent}/** ${words}${ending} */\n${line}`;
  });
  // A declaration that an earlier call has described is complete.
  if (!text.includes(`/** ${OPTIONS.chainId.sentence}`)) writeFileSync(`${table}.d.ts`, described);
}
