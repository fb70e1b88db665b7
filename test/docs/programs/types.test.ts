// The types of the documents' programs, as an editor of their readers checks them.
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { freshFolder } from "../../support/freshFolder.js";
import { root } from "../../support/program.js";
import { allBlocks, programsOf } from "../codeBlocks.js";

const run = promisify(execFile);

it("the programs of the documents type-check as strict TypeScript", async () => {
  const folder = freshFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [i, { language, file, line, text }] of programsOf(allBlocks()).entries()) {
    if (language !== "js") continue;
    writeFileSync(join(folder, `program${i}.mts`), `// ${file}:${line}\n${text}`);
  }
  const compilerOptions = {
    ...{ module: "nodenext", target: "es2022", lib: ["ES2023", "DOM", "DOM.AsyncIterable"] },
    ...{ strict: true, noEmit: true, skipLibCheck: true },
    ...{ types: ["node"], typeRoots: [join(root, "node_modules", "@types")] },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", folder]).catch((error) => error);
  expect(stdout).toBe("");
}, 300_000);
