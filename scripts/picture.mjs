// npm run docs:picture makes the picture of the getting-started page anew: the browser test of examples/wagmi takes it.
import { join } from "node:path";
import { runProgram } from "./runProgram.mjs";
import { root, setUp } from "./setup.mjs";

const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort());
const { signal } = interrupted;

try {
  await setUp({ signal });
  process.env.GAS_WAIVER_PICTURE = join(root, "docs", "pictures", "gateway.png");
  const vitest = join("node_modules", "vitest", "vitest.mjs");
  const test = ["run", "test/examples.test.ts", "-t", "the wagmi example"];
  await runProgram("vitest", process.execPath, [vitest, ...test], { cwd: root, signal });
} catch (error) {
  if (signal.aborted) process.exit(130);
  console.error(`docs:picture: ${error.message}`);
  process.exit(1);
}
