// npm run docs serves the documentation's site on this machine; npm run docs:build builds it into
// docs/.vitepress/dist; npm run docs:generate only writes what is made from the code, as the other two do first. All
// install the packages where they are missing.
import { join } from "node:path";
import { documentProblems } from "./documentLinks.mjs";
import { installProject, root } from "./install.mjs";
import { runProgram } from "./runProgram.mjs";
import { installPackages } from "./setup.mjs";
import { writeGeneratedFiles } from "./writeGeneratedFiles.mjs";

const [command, ...args] = process.argv.slice(2);
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort());
const { signal } = interrupted;

try {
  await installPackages({ signal });
  const made = await writeGeneratedFiles();
  if (command === "build") {
    const problems = documentProblems(root, made);
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) throw new Error(`${problems.length} link(s) lead nowhere`);
  }
  if (command !== "generate") {
    const vitepress = join(
      (await installProject("docs", signal)).resolve("vitepress/package.json"),
      "../bin/vitepress.js",
    );
    await runProgram("vitepress", process.execPath, [vitepress, command, "docs", ...args], {
      cwd: root,
      signal,
    });
  }
} catch (error) {
  if (signal.aborted) process.exit(0);
  console.error(`docs: ${error.message}`);
  process.exit(1);
}
