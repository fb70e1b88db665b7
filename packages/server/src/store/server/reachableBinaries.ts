import { cp, lstat, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StartError } from "../../model/errors.js";

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
