import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "./runProgram.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const MINIMUM_NODE = [20, 19];

/**
 * Makes a checkout ready to run: installs the packages of the lock file and builds everything. It skips the
 * installation when node_modules is up to date, and the build is incremental.
 * @param {{ signal: AbortSignal }} options
 */
export async function setUp({ signal }) {
  await installPackages({ signal });
  console.log("building (tsc -b) …");
  await runProgram("tsc", process.execPath, [join("node_modules", "typescript", "bin", "tsc"), "-b"], {
    cwd: root,
    signal,
  });
}

/**
 * Installs the packages as the lock file has them, unless they are there.
 * @param {{ signal: AbortSignal }} options
 */
export async function installPackages({ signal }) {
  assertNode();
  if (!(await isOutOfDate())) return;
  console.log("installing the packages (npm ci); this can take a minute the first time …");
  await npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], signal);
}

function assertNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [needMajor, needMinor] = MINIMUM_NODE;
  if (major < needMajor || (major === needMajor && minor < needMinor)) {
    throw new Error(
      `Node ${MINIMUM_NODE.join(".")} or newer is needed, this is ${process.versions.node}; see https://nodejs.org`,
    );
  }
}

/** Compares the lock file with npm's own record of the installed packages in node_modules. */
async function isOutOfDate() {
  const locked = await packagesOf(join(root, "package-lock.json"));
  const installed = await packagesOf(join(root, "node_modules", ".package-lock.json")).catch(() => undefined);
  if (installed === undefined) return true;
  return Object.entries(locked).some(([path, { version, optional, devOptional }]) => {
    if (path === "") return false;
    const installedPackage = installed[path];
    // npm leaves out optional packages for other platforms.
    if (installedPackage === undefined) return !(optional || devOptional);
    return installedPackage.version !== version;
  });
}

async function packagesOf(path) {
  return JSON.parse(await readFile(path, "utf8")).packages;
}

/** Runs npm: the one that started this script, or else the one on the PATH. */
async function npm(args, signal) {
  const { npm_execpath: running } = process.env;
  const name = `npm ${args[0]}`;
  if (running?.endsWith("npm-cli.js")) {
    await runProgram(name, process.execPath, [running, ...args], { cwd: root, signal });
  } else await runProgram(name, "npm", args, { cwd: root, signal });
}
