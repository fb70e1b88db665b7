import { execFileSync } from "node:child_process";
import { constants, copyFileSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StateFolderError } from "./stateFolderError.js";

const LOCK_FILE = "lock";

/**
 * The folders that this process holds. A lock with our id does not tell: an earlier process may have had the id, and some
 * systems provide no start time.
 */
const heldFolders = new Set<string>();

/**
 * Locks the folder for this process. A lock whose process has ended is taken over. The lock has the start time of its
 * process beside the id, because containers use the same ids at every start.
 * @returns the function that releases the lock.
 * @throws {@link StateFolderError} if another process holds the lock.
 */
export function lockFolder(folder: string): () => void {
  if (heldFolders.has(folder)) throw inUse(folder, process.pid);
  const path = join(folder, LOCK_FILE);
  const content = `${process.pid} ${startOf(process.pid)}\n`;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  try {
    takeOver(folder, path, draft);
  } finally {
    rmSync(draft, { force: true });
  }
  heldFolders.add(folder);
  return () => {
    if (heldFolders.delete(folder) && contentOf(path) === content) rmSync(path, { force: true });
  };
}

/** Makes the draft the lock, unless a living process holds the lock. */
function takeOver(folder: string, path: string, draft: string): void {
  for (;;) {
    try {
      place(draft, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const lock = contentOf(path);
    if (lock === undefined) continue;
    const owner = ownerOf(lock);
    if (owner !== undefined) throw inUse(folder, owner);
    removeStale(path, lock);
  }
}

/** Unlike a rename, this does not replace an existing file. */
function place(draft: string, path: string): void {
  try {
    // A link has its content from the start, unlike a file that is created and then written.
    linkSync(draft, path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Some file systems have no links. Copying is second best: an empty lock would count as stale.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

/** Removes a stale lock. If another process has replaced it meanwhile, that process' lock is put back. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
    if (contentOf(aside) !== stale) place(aside, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** The id of the process that holds the lock; undefined if that process has ended. */
function ownerOf(lock: string): number | undefined {
  const [, id = "", start = ""] = /^(\d+) (.*)\n$/.exec(lock) ?? [];
  const pid = Number(id);
  if (pid === 0 || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined;
  }
  return startOf(pid) === start ? pid : undefined;
}

/** The start time of a process, as text to compare; empty if the system does not provide it. */
function startOf(pid: number): string {
  try {
    if (process.platform === "linux") {
      // The start time is the 22nd field. The second, the name, may contain spaces and parentheses.
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    }
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
  } catch {
    return "";
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function inUse(folder: string, pid: number): StateFolderError {
  return new StateFolderError(
    folder,
    pid === process.pid
      ? "is in use by another chain of this process"
      : `is in use by process ${pid}; stop that one, or name another folder`,
  );
}
