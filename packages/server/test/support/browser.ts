import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium as playwright } from "playwright-core";
import { installProject, root } from "../../../../scripts/install.mjs";

const run = promisify(execFile);

/** True on the platform for which the package has a Chromium. */
export const hasBrowser = process.platform === "linux" && process.arch === "x64";

/** The part of `@sparticuz/chromium` that the tests use. */
interface Chromium {
  readonly args: readonly string[];
}

const PROJECT = "integrations/browser";
const PACKAGE = "@sparticuz/chromium";
const packageFile = hasBrowser ? (await installProject(PROJECT)).resolve(PACKAGE) : "";

/** Launches Chromium with the arguments of its package, except `without`, and `further` ones. The caller closes it. */
export async function launchBrowser(
  without: readonly string[] = [],
  further: readonly string[] = [],
): Promise<Browser> {
  const { default: chromium }: { default: Chromium } = await import(pathToFileURL(packageFile).href);
  const args = [...chromium.args.filter((one) => !without.includes(one)), ...further];
  return await playwright.launch({ executablePath: await unpacked(), args });
}

const UNPACK = `await (await import("${PACKAGE}")).default.executablePath()`;

/**
 * Unpacks the browser once for all runs, and returns the path of its binary. The package cannot tell a complete binary
 * from one that another process is still unpacking, so each process unpacks into a folder of its own, and the first
 * moves its folder into place.
 */
async function unpacked(): Promise<string> {
  const modules = join(root, PROJECT, "node_modules");
  const { version } = JSON.parse(readFileSync(join(modules, PACKAGE, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const folder = join(modules, `.chromium-${version}`);
  const binary = join(folder, "chromium");
  if (existsSync(binary)) return binary;
  const own = await mkdtemp(`${folder}.`);
  await run(process.execPath, ["--input-type=module", "-e", UNPACK], {
    cwd: join(root, PROJECT),
    env: { TMPDIR: own },
  });
  await rename(own, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(own, { recursive: true, force: true });
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
  return binary;
}
