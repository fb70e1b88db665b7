import { readFile, readlink, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runProgram } from "./runProgram.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const NEVER = new AbortController().signal;
/** The time between two looks whether another process has ended its installation. */
const POLL_MS = 100;

/**
 * The npm projects beside the root's, each with a lock file of its own, in the order in which `npm test` installs them.
 * Their packages are large, and few tests need them.
 */
export const PROJECTS = [
  "integrations/browser",
  "integrations/foundry",
  "integrations/helm",
  "integrations/custody",
  "integrations/web3",
  "docs",
  "examples/hardhat-2",
  "examples/hardhat-3",
];

/**
 * Installs one of the {@link PROJECTS}, unless it is installed.
 * @param {string} project
 * @param {AbortSignal} [signal]
 * @returns the function that resolves and requires its packages.
 */
export async function installProject(project, signal = NEVER) {
  try {
    await installFolder(join(root, project), { signal });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new Error(`the packages of ${project} cannot be installed: ${cause.message}`, { cause });
  }
  return createRequire(join(root, project, "package.json"));
}

/**
 * Installs all {@link PROJECTS} that run on this Node, one after the other. One that cannot be installed is left to the
 * tests that need it: they try again, and fail with the reason.
 * @param {AbortSignal} signal
 */
export async function installProjects(signal) {
  for (const project of PROJECTS) {
    if ((await nodeMissing(join(root, project))) !== undefined) continue;
    await installProject(project, signal).catch(() => {});
  }
}

/** @returns the oldest version of Node on which a project runs, where this one is older. */
export async function nodeMissing(folder) {
  const { engines } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const least = engines?.node.replace(">=", "") ?? "0.0";
  const [needMajor, needMinor] = least.split(".").map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major < needMajor || (major === needMajor && minor < needMinor) ? least : undefined;
}

/**
 * Installs what the lock file of a folder has, unless it is there. One process at a time does so in a folder.
 * @param {string} folder
 * @param {{ signal: AbortSignal, flags?: readonly string[], onBegin?: () => void }} options
 */
export async function installFolder(folder, { signal, flags = [], onBegin = () => {} }) {
  const withDevelopment = !flags.includes("--omit=dev");
  const find = () => findInstallation(folder, withDevelopment);
  if ((await find()) === "complete") return;
  await whileAlone(join(folder, ".installing"), signal, async () => {
    // The process before may have done it.
    const found = await find();
    if (found === "complete") return;
    onBegin();
    // Programs may run from the packages that are there, and `npm ci` would remove them first.
    const command = found === "none" ? ["ci"] : ["install", "--no-save"];
    await npm([...command, ...flags, "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: folder,
      signal,
      stdout: "ignore",
    });
  });
}

/** Compares the lock file with npm's own record of the installed packages in node_modules: none, some, or complete. */
async function findInstallation(folder, withDevelopment) {
  const locked = await packagesOf(join(folder, "package-lock.json"));
  const installed = await packagesOf(join(folder, "node_modules", ".package-lock.json")).catch(
    () => undefined,
  );
  if (installed === undefined) return "none";
  const isOutOfDate = Object.entries(locked).some(([path, { version, dev, optional, devOptional }]) => {
    if (path === "" || (dev && !withDevelopment)) return false;
    const installedPackage = installed[path];
    // npm leaves out optional packages for other platforms.
    if (installedPackage === undefined) return !(optional || devOptional);
    return installedPackage.version !== version;
  });
  return isOutOfDate ? "some" : "complete";
}

async function packagesOf(path) {
  return JSON.parse(await readFile(path, "utf8")).packages;
}

/** Runs something while no other process holds the file: a symbolic link to the number of the process that does. */
async function whileAlone(file, signal, run) {
  while (!(await tryHold(file))) await setTimeout(POLL_MS, undefined, { signal });
  try {
    await run();
  } finally {
    await rm(file, { force: true });
  }
}

/** @returns whether this process holds the file now. What a process held that has ended is free. */
async function tryHold(file) {
  try {
    await symlink(String(process.pid), file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  const holder = Number(await readlink(file).catch(() => process.pid));
  if (!isRunning(holder)) await rm(file, { force: true });
  return false;
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Runs npm: the one that started this script, or else the one on the PATH. */
async function npm(args, options) {
  const { npm_execpath: running } = process.env;
  const name = `npm ${args[0]}`;
  if (running?.endsWith("npm-cli.js")) {
    await runProgram(name, process.execPath, [running, ...args], options);
  } else await runProgram(name, "npm", args, options);
}
