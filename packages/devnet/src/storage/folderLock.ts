import { execFileSync } from "node:child_process";
import { constants, copyFileSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StateFolderError } from "./stateFolderError.js";

const LOCK_FILE = "lock";

/** Folders that this process holds: a lock of an earlier process may carry our own id. */
const held = new Set<string>();

/**
 * Makes this process the only one that uses the folder. A lock whose process has ended, killed or not, is
 * taken over. A process id alone would not do: containers start with the same ones each time.
 * @returns how to give it back.
 * @throws {@link StateFolderError} when another process has it.
 */
export function lockFolder(folder: string): () => void {
  if (held.has(folder)) throw inUse(folder, process.pid);
  const path = join(folder, LOCK_FILE);
  const mine = `${process.pid} ${startOf(process.pid)}\n`;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, mine);
  try {
    takeOver(folder, path, draft);
  } finally {
    rmSync(draft, { force: true });
  }
  held.add(folder);
  return () => {
    if (held.delete(folder) && contentOf(path) === mine) rmSync(path, { force: true });
  };
}

/** Puts the draft in the lock's place, unless a living process has that. */
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

/** Unlike a rename, this does not replace what is there. */
function place(draft: string, path: string): void {
  try {
    // Unlike a file that is created and then written, a link comes with its content.
    linkSync(draft, path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // File systems without links: between its creation and its content the lock would count as stale.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

/** Removes a lock that nobody holds. If another process was faster and locked anew, its lock is put back. */
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

/** The process that holds the lock, if it still lives. */
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

/** When a process began, in a form that is only compared; empty where the system does not tell. */
function startOf(pid: number): string {
  try {
    if (process.platform === "linux") {
      // The 22nd field; the second, the name, may hold spaces and parentheses.
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
