import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { StartError } from "../../model/errors.js";
import { writeDurably } from "./durableFile.js";

const passwordFile = (dataDir: string) => join(dataDir, "postgres-password");

/**
 * Reads the password of the service's role.
 * @returns undefined if there is none yet.
 * @throws {@link StartError} if this user may not read it.
 */
export async function readPassword(dataDir: string): Promise<string | undefined> {
  const file = passwordFile(dataDir);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw new StartError(`the password of the database, ${file}, cannot be read: ${error.message}`);
  });
  return text.trim() || undefined;
}

/**
 * Reads the password, or makes one in a file that only this user reads. If another start makes one at the same time, one
 * of them counts.
 */
export async function ensurePassword(dataDir: string): Promise<string> {
  const file = passwordFile(dataDir);
  const known = await readPassword(dataDir);
  if (known !== undefined) {
    await chmod(file, 0o600);
    return known;
  }
  const draft = `${file}.new-${process.pid}`;
  await writeDurably(draft, `${randomBytes(24).toString("base64url")}\n`);
  try {
    // An empty file, which a crash of the machine can leave, is no password.
    if ((await readFile(file, "utf8").catch(() => undefined)) === "") await rename(draft, file);
    else await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(file, "utf8")).trim();
}
