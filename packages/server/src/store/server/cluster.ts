import { execFile } from "node:child_process";
import { chown, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../model/errors.js";
import { areLoginsRestricted, restrictLogins, runClusterProgram, SUPERUSER } from "./clusterRoles.js";
import { clusterCommand, type DatabaseUsers, type User } from "./unprivilegedUser.js";

const run = promisify(execFile);

/** The time for a killed service's server to begin to end, in ms. A server that still serves then is another service's. */
const TAKEOVER_MS = 5_000;
/** The time for it to end: it writes everything to the disk. */
const ENDING_MS = 60_000;
const RETRY_MS = 100;

/** PostgreSQL's message to a user number that no account has, such as `docker run --user` gives. */
const NAMELESS_USER = /could not look up effective user ID/;
const NAMELESS_REMEDY =
  "; give this number an account in /etc/passwd, run as another user, or set a database URL";

/** The programs, the place and the users of a cluster. */
export interface ClusterPlace {
  /** The folder with PostgreSQL's programs. */
  readonly home: string;
  readonly cluster: string;
  /** Undefined if this process is not root. */
  readonly users: DatabaseUsers | undefined;
}

/** Makes the database cluster on the first start, in a folder beside its place, and moves the complete folder there. */
export async function makeCluster(
  { home, cluster, users }: ClusterPlace,
  password: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await removeIncompleteClusters(cluster);
  const incomplete = `${cluster}.new-${process.pid}`;
  await mkdir(incomplete, { recursive: true, mode: 0o700 });
  try {
    const user = users?.initial;
    if (user) await chown(incomplete, user.uid, user.gid);
    const flags = ["-U", SUPERUSER, "--auth=reject", "--encoding=UTF8", "--no-locale", "--no-instructions"];
    const initdb = clusterCommand(user, incomplete, [join(home, "bin", "initdb"), ...flags]);
    await runClusterProgram(initdb, { signal });
    await restrictLogins({ home, cluster: incomplete, user, password, signal });
    if (users) await changeOwner(users.own, incomplete);
    await rename(incomplete, cluster);
  } catch (error) {
    await rm(incomplete, { recursive: true, force: true });
    signal?.throwIfAborted();
    const { message } = error as Error;
    const remedy = NAMELESS_USER.test(message) ? NAMELESS_REMEDY : "";
    throw new StartError(`PostgreSQL could not set up ${cluster}: ${message}${remedy}`);
  }
}

/**
 * Gives a cluster to the user that runs it now, and restricts its logins where the password was lost. A start that is killed in
 * between is done again by the next one.
 */
export async function takeOverCluster(
  { home, cluster, users }: ClusterPlace,
  password: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wait = createTakeover(cluster);
  while (!(await areLoginsRestricted(cluster))) {
    await untilFree(cluster, wait);
    // Like `initdb`, the single-user mode wants a user with a name.
    if (users) await changeOwner(users.initial, cluster);
    try {
      await restrictLogins({ home, cluster, user: users?.initial, password, signal });
    } catch (error) {
      signal?.throwIfAborted();
      const { message } = error as Error;
      if (!IN_USE.test(message)) throw new StartError(`PostgreSQL did not start in ${cluster}: ${message}`);
      await wait();
    }
  }
  if (users === undefined || (await stat(cluster)).uid === users.own.uid) return;
  await untilFree(cluster, wait);
  await changeOwner(users.own, cluster);
}

/** PostgreSQL's message where another of its processes has the cluster. */
export const IN_USE = /lock file "postmaster.pid" already exists/;

/**
 * Returns a function that waits a moment for the cluster's present holder to end, while that may be the server of a killed
 * service. It throws a {@link StartError} once it is another service's.
 */
export function createTakeover(cluster: string): () => Promise<void> {
  const begunAt = performance.now();
  return async () => {
    const limitMs = (await holderOf(cluster)) === "serving" ? TAKEOVER_MS : ENDING_MS;
    if (performance.now() - begunAt > limitMs)
      throw new StartError(`the data folder ${dirname(cluster)} is in use by another service`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  };
}

async function untilFree(cluster: string, wait: () => Promise<void>): Promise<void> {
  while ((await holderOf(cluster)) !== undefined) await wait();
}

/** Uses `chown`, which follows no links, even if the folder changes while it runs. */
async function changeOwner({ uid, gid }: User, cluster: string): Promise<void> {
  await run("chown", ["-R", "-P", "-h", `${uid}:${gid}`, cluster]);
}

/** Reads from PostgreSQL's lock file whether one of its processes has the cluster, and whether it ends by itself. */
async function holderOf(cluster: string): Promise<"serving" | "ending" | undefined> {
  const lock = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const [number, , , , , , , status] = lock.split("\n");
  const pid = Number(number);
  if (!pid || !isAlive(Math.abs(pid))) return undefined;
  // The program that restricts the logins, a server without clients, writes its number below zero.
  return pid < 0 || status?.trim() === "stopping" ? "ending" : "serving";
}

/** Removes the folders of starts that were killed before their cluster was complete. */
async function removeIncompleteClusters(cluster: string): Promise<void> {
  const folder = dirname(cluster);
  const names = await readdir(folder).catch(() => []);
  const prefix = `${basename(cluster)}.new-`;
  for (const name of names.filter((entry) => entry.startsWith(prefix))) {
    if (!isAlive(Number(name.slice(prefix.length))))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** @returns whether a process that this user may signal has the number. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
