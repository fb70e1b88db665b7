// npm test: makes the checkout ready, then runs the tests; arguments go to vitest. The last line is the count of
// tests, even if no test ran, unless the run is interrupted.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { installProjects } from "./install.mjs";
import { root, setUp } from "./setup.mjs";

const interrupted = new AbortController();
const interrupt = () => interrupted.abort();
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);

try {
  await setUp({ signal: interrupted.signal });
} catch (error) {
  if (interrupted.signal.aborted) process.exit(130);
  console.error(`the tests cannot run: ${error instanceof Error ? error.message : error}`);
  console.log("0 passed, 1 failed");
  process.exit(1);
}

const args = process.argv.slice(2);
const ended = new AbortController();
// The first tests run meanwhile. Tests of named files install their projects themselves.
const installing = args.length > 0 ? undefined : installProjects(ended.signal);
const vitest = spawn(process.execPath, [join("node_modules", "vitest", "vitest.mjs"), "run", ...args], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
interrupted.signal.addEventListener("abort", () => vitest.kill("SIGTERM"));
if (interrupted.signal.aborted) vitest.kill("SIGTERM");

let counted = false;
vitest.on("message", (message) => {
  // countingReporter.mjs prints the count in vitest's process, and says so with this message.
  if (message?.type === "counted") counted = true;
});
const status = await new Promise((resolve) => {
  vitest.on("close", (code) => resolve(code ?? 1));
});
ended.abort();
await installing;
if (status !== 0 && !counted) console.log("0 passed, 1 failed");
process.exit(interrupted.signal.aborted ? 130 : status);
