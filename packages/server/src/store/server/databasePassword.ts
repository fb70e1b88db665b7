import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { StartError } from "../../model/errors.js";

const passwordFile = (dataDir: string) => join(dataDir, "postgres-password");

/** The form of each password that {@link ensurePassword} makes. It stands in a statement of the superuser. */
const PASSWORD = /^[\w-]{32}$/;

/**
 * Reads the password of the service's role.
 * @returns undefined if there is none yet.
 * @throws {@link StartError} if this user may not read it, or if it is not one that a start has made.
 */
export async function readPassword(dataDir: string): Promise<string | undefined> {
  const file = passwordFile(dataDir);
  const password = (await contentOf(file))?.trim() || undefined;
  if (password === undefined || PASSWORD.test(password)) return password;
  throw new StartError(
    `${file} is not the password of the database; without the file, a start makes a new one`,
  );
}

/** @returns undefined if there is no such file. */
function contentOf(file: string): Promise<string | undefined> {
  return withFile(file, (handle) => handle.readFile("utf8"));
}

/** Opens the file itself and never one that a link names, which may be anybody's. */
async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      return await use(handle);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    const reason = code === "ELOOP" ? "it is a link" : message;
    throw new StartError(`the password of the database, ${file}, cannot be read: ${reason}`);
  }
}

/**
 * Reads the password, or makes one in a file that only this user reads. If another start makes one at the same time, one
 * of them counts.
 */
export async function ensurePassword(dataDir: string): Promise<string> {
  const file = passwordFile(dataDir);
  const known = await readPassword(dataDir);
  if (known !== undefined) {
    await withFile(file, (handle) => handle.chmod(0o600));
    return known;
  }
  const draft = `${file}.new-${process.pid}`;
  await writeDurably(draft, `${randomBytes(24).toString("base64url")}\n`);
  try {
    // An empty file, which a crash of the machine can leave, is no password.
    if ((await contentOf(file)) === "") await rename(draft, file);
    else await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readPassword(dataDir);
  if (made === undefined) throw new StartError(`the password of the database, ${file}, cannot be kept`);
  return made;
}

/** Writes a new file that only this user reads. After a crash of the machine it is whole, or not there. */
export async function writeDurably(file: string, content: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
