import { join } from "node:path";
import { installFolder, nodeMissing, root } from "./install.mjs";
import { runProgram } from "./runProgram.mjs";

export { root };

/**
 * Makes a checkout ready for its tests and benchmarks: installs all packages of the root's lock file and builds everything. It
 * skips the installation when node_modules is up to date, and the build is incremental.
 * @param {{ signal: AbortSignal }} options
 */
export async function setUp({ signal }) {
  await installPackages({ signal });
  await build([], signal);
}

/**
 * Makes a checkout ready to start: installs the packages that the command line needs and is built with, and builds it.
 * @param {{ signal: AbortSignal }} options
 */
export async function setUpToStart({ signal }) {
  await installPackages({ signal, flags: ["--omit=dev"] });
  await build([join("packages", "cli")], signal);
}

/**
 * Installs the packages of the root's lock file: all of them, unless flags of npm leave some out.
 * @param {{ signal: AbortSignal, flags?: readonly string[] }} options
 */
export async function installPackages({ signal, flags }) {
  const least = await nodeMissing(root);
  if (least !== undefined)
    throw new Error(
      `Node ${least} or newer is needed, this is ${process.versions.node}; see https://nodejs.org`,
    );
  const onBegin = () => console.log("installing the packages (npm ci) …");
  await installFolder(root, { signal, flags, onBegin });
}

/**
 * Builds what has changed since the last build.
 * @param {readonly string[]} projects the folders of the packages; all of them if it is empty.
 * @param {AbortSignal} signal
 */
export async function build(projects, signal) {
  console.log("building (tsc -b) …");
  const compiler = join("node_modules", "typescript", "bin", "tsc");
  await runProgram("tsc", process.execPath, [compiler, "-b", ...projects], { cwd: root, signal });
}
