import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { StartError } from "../../model/errors.js";

/** The user that runs PostgreSQL if this process is root. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The users of PostgreSQL, which refuses to run as root. */
export interface DatabaseUsers {
  /** Makes the cluster: `initdb` wants a user with a name. */
  readonly initial: User;
  /** Owns the cluster and runs the server: a number without a name, which nothing else runs as. */
  readonly own: User;
}

/** The numbers that systemd gives to services without a name of their own. Distributions keep them free. */
const FIRST_UID = 61_184;
const LAST_UID = 65_519;

/**
 * Finds the users that make and run the cluster.
 * @returns undefined if this process is not root.
 */
export async function databaseUsers(cluster: string): Promise<DatabaseUsers | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = await readAccounts();
  const running = await runningUids();
  const initial = await initialUser(accounts, running);
  // On another system than Linux, a server without a name cannot reach its files by its working directory.
  if (!existsSync(OWN_FOLDER)) return { initial, own: initial };
  const owner = await lstat(cluster).catch(() => undefined);
  if (owner && isOwnUid(owner.uid)) return { initial, own: { uid: owner.uid, gid: owner.gid } };
  const used = new Set([...running, ...accounts.flatMap(({ uid, gid }) => [uid, gid])]);
  const first = createHash("sha256").update(cluster).digest().readUInt32BE(0);
  const count = LAST_UID - FIRST_UID + 1;
  for (let i = 0; i < count; i++) {
    const uid = FIRST_UID + ((first + i) % count);
    if (!used.has(uid)) return { initial, own: { uid, gid: uid } };
  }
  throw new StartError(
    "there is no free user number for PostgreSQL: run as another user, or set a database URL",
  );
}

interface Account extends User {
  readonly name: string;
}

async function readAccounts(): Promise<Account[]> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  return lines.flatMap(([name = "", , uid, gid]) =>
    name === "" ? [] : [{ name, uid: Number(uid), gid: Number(gid) }],
  );
}

/** Reads the user ids of all running processes. */
async function runningUids(): Promise<ReadonlySet<number>> {
  const names = await readdir("/proc").catch(() => []);
  const processes = names.filter((name) => /^\d+$/.test(name));
  const owners = await Promise.all(processes.map((name) => lstat(`/proc/${name}`).catch(() => undefined)));
  return new Set(owners.flatMap((owner) => owner?.uid ?? []));
}

/** `postgres`, `nobody` or another user, if possible one without processes, because these could reach the new cluster. */
async function initialUser(accounts: readonly Account[], running: ReadonlySet<number>): Promise<User> {
  const preferred = ["postgres", "nobody"].flatMap((name) => accounts.filter((one) => one.name === name));
  const users = [...preferred, ...accounts.filter(({ uid }) => uid > 0)];
  const user = users.find(({ uid }) => !running.has(uid)) ?? users[0];
  if (user === undefined) {
    throw new StartError(
      "PostgreSQL does not run as root, and there is no other user: run as another user, or set a database URL",
    );
  }
  return user;
}

function isOwnUid(uid: number): boolean {
  return uid >= FIRST_UID && uid <= LAST_UID;
}

/** The working directory of a process, which it may use although it may not enter the folders above. */
export const OWN_FOLDER = "/proc/self/cwd";

/** A program with its arguments, as `child_process` takes them. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: { readonly cwd: string; readonly uid?: number; readonly gid?: number };
}

/**
 * Makes the command that runs one of PostgreSQL's programs on a cluster. Under another user, which keeps none of root's
 * capabilities, the program reaches the cluster as its working directory, because the data may lie in folders that only
 * root may enter.
 */
export function clusterCommand(
  user: User | undefined,
  cluster: string,
  [file, ...args]: readonly [string, ...string[]],
): Command {
  if (user === undefined) return { file, args: ["-D", cluster, ...args], options: { cwd: "/" } };
  const { uid, gid } = user;
  if (!existsSync(OWN_FOLDER))
    return { file, args: ["-D", cluster, ...args], options: { cwd: "/", uid, gid } };
  return { file, args: ["-D", OWN_FOLDER, ...args], options: { cwd: cluster, uid, gid } };
}
