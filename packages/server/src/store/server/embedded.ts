import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../model/errors.js";
import type { Logger } from "../../model/log.js";
import { findBinaries } from "./binaries.js";
import { reachableBinaries } from "./reachableBinaries.js";
import { clusterCommand, type DatabaseUsers, databaseUsers, type User } from "./unprivilegedUser.js";

const run = promisify(execFile);

/** A running PostgreSQL server whose files lie in one folder. */
export interface EmbeddedPostgres {
  /** The address of the server: a Unix socket in a folder that only this user can enter. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  stop(): Promise<void>;
}

const USER = "gas_waiver";

/**
 * Runs the PostgreSQL that npm installed, with its data in `<dataDir>/postgres`, which the first start makes. The server
 * lives as long as this process: a shell reads from a pipe that this process holds, and stops the server when the pipe
 * closes, also after SIGKILL.
 * @param signal aborts the first start's `initdb`.
 * @throws {@link StartError} if the binaries are missing, the folder is in use, or PostgreSQL does not start.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: Logger,
  signal?: AbortSignal,
): Promise<EmbeddedPostgres> {
  const installed = await findBinaries();
  const cluster = resolve(dataDir, "postgres");
  const users = await databaseUsers(cluster);
  const home = users ? await reachableBinaries(installed) : installed;
  await makeCluster(home, cluster, users, signal);
  const owner = users?.own;
  if (owner) await changeClusterOwner(owner, cluster);
  const sockets = await socketFolder(cluster, owner);
  // A failed start leaves the socket folder, because another service on this data may have its socket there.
  const server = await superviseServer({ home, cluster, sockets, owner, log });
  return {
    connection: { host: sockets, user: USER, database: "postgres" },
    async stop() {
      await server.stop();
      await rm(sockets, { recursive: true, force: true });
    },
  };
}

/**
 * Makes the folder of the server's socket, which only its owner can enter. Its path is short, because a socket's path has
 * at most 107 bytes. It is the same for each start on the cluster, so that killed services leave only one folder.
 */
async function socketFolder(cluster: string, owner: User | undefined): Promise<string> {
  const name = createHash("sha256").update(cluster).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), `gas-waiver-${name}`);
  const uid = owner?.uid ?? process.getuid?.() ?? 0;
  try {
    await mkdir(folder, { mode: 0o700 });
    if (owner) await chown(folder, owner.uid, owner.gid);
    return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const { mode, uid: folderOwner } = await lstat(folder);
    // Use an existing folder only if this user owns it and nobody else can enter it.
    if (folderOwner === uid && (mode & 0o170777) === 0o040700) return folder;
  }
  const other = await mkdtemp(join(tmpdir(), "gas-waiver-"));
  if (owner) await chown(other, owner.uid, owner.gid);
  return other;
}

/**
 * Finds the address of the PostgreSQL that a running service has in this data folder.
 * @throws {@link StartError} if none runs there.
 */
export async function embeddedConnection(dataDir: string): Promise<EmbeddedPostgres["connection"]> {
  // The fifth line of PostgreSQL's lock file names the folder of its socket.
  const lock = await readFile(join(resolve(dataDir, "postgres"), "postmaster.pid"), "utf8").catch(() => "");
  const host = lock.split("\n")[4];
  if (!host) throw new StartError(`no service runs on the data folder ${dataDir}`);
  return { host, user: USER, database: "postgres" };
}

const C_LOCALE = { LC_ALL: "C" };

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Makes the database cluster on the first start, in a folder beside its place, and moves the complete folder there. */
async function makeCluster(
  home: string,
  cluster: string,
  users: DatabaseUsers | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (await exists(cluster)) return;
  await removeIncompleteClusters(cluster);
  const incomplete = `${cluster}.new-${process.pid}`;
  await mkdir(incomplete, { recursive: true, mode: 0o700 });
  try {
    if (users) await chown(incomplete, users.initial.uid, users.initial.gid);
    const flags = ["-U", USER, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"];
    const command = clusterCommand(users?.initial, incomplete, [join(home, "bin", "initdb"), ...flags]);
    await run(command.file, command.args, { ...command.options, env: C_LOCALE, ...(signal && { signal }) });
    if (users) await changeOwner(users.own, incomplete);
    await rename(incomplete, cluster);
  } catch (error) {
    await rm(incomplete, { recursive: true, force: true });
    signal?.throwIfAborted();
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new StartError(`PostgreSQL could not set up ${cluster}: ${lastLine(stderr || message)}`);
  }
}

/** Gives an earlier version's cluster to the user that runs it now. */
async function changeClusterOwner(owner: User, cluster: string): Promise<void> {
  if ((await stat(cluster)).uid === owner.uid) return;
  const deadline = Date.now() + TAKEOVER_MS;
  while (await isServerAlive(cluster)) {
    if (Date.now() > deadline) throw inUse(cluster);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await changeOwner(owner, cluster);
}

/** Uses `chown`, which follows no links, even if the folder changes while it runs. */
async function changeOwner({ uid, gid }: User, cluster: string): Promise<void> {
  await run("chown", ["-R", "-P", "-h", `${uid}:${gid}`, cluster]);
}

async function isServerAlive(cluster: string): Promise<boolean> {
  const lock = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number(lock.split("\n", 1)[0]);
  return pid > 0 && isAlive(pid);
}

function inUse(cluster: string): StartError {
  return new StartError(`the data folder ${dirname(cluster)} is in use by another service`);
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

/**
 * The shell script that runs the server (`$@`) and waits for it. A reader in the background ends when this process closes
 * its end of the pipe or dies, and then asks the server for a fast shutdown (SIGINT). Descriptor 3 keeps the pipe for the
 * reader, because a background job of a shell has no standard input.
 */
const SUPERVISOR =
  'exec 3<&0; "$@" </dev/null 3<&- & p=$!; (read -r _ <&3; kill -INT $p) & r=$!; wait $p; c=$?; kill $r; exit $c';

interface Supervised {
  stop(): Promise<void>;
}

interface ServerConfig {
  readonly home: string;
  readonly cluster: string;
  readonly sockets: string;
  readonly owner: User | undefined;
  readonly log: Logger;
}

/** Starts the server, and starts it again if it ends before `stop`. */
async function superviseServer(config: ServerConfig): Promise<Supervised> {
  let stopping = false;
  let server = await startServer(config);
  const watch = () => {
    server.ended.then(async () => {
      if (stopping) return;
      config.log.error("the embedded PostgreSQL has ended unexpectedly; starting it again");
      try {
        server = await startServer(config);
        watch();
      } catch (error) {
        config.log.fatal({ err: error }, "the embedded PostgreSQL does not start again");
      }
    });
  };
  watch();
  return {
    async stop() {
      stopping = true;
      server.process.stdin?.end();
      await server.ended;
    },
  };
}

interface RunningServer {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
}

const IN_USE = /lock file "postmaster.pid" already exists/;
/** The time for the server of a killed service to end, in ms. */
const TAKEOVER_MS = 5_000;

async function startServer(config: ServerConfig): Promise<RunningServer> {
  const deadline = Date.now() + TAKEOVER_MS;
  for (;;) {
    const started = await spawnServer(config);
    if ("server" in started) return started.server;
    if (!IN_USE.test(started.output)) {
      throw new StartError(`PostgreSQL did not start in ${config.cluster}: ${lastLine(started.output)}`);
    }
    if (Date.now() > deadline) {
      throw inUse(config.cluster);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A standby accepts connections that only read. */
const READY = /database system is ready to accept (read-only )?connections/;

/** Starts the server once. Resolves when it accepts connections, or with its output when it has ended instead. */
async function spawnServer(config: ServerConfig): Promise<{ server: RunningServer } | { output: string }> {
  const settings = ["listen_addresses=", "unix_socket_permissions=0700", "max_connections=60"];
  const command = clusterCommand(config.owner, config.cluster, [
    join(config.home, "bin", "postgres"),
    ...["-k", config.sockets],
    ...settings.flatMap((setting) => ["-c", setting]),
  ]);
  // In a session of its own, the server gets no interrupt from the terminal, and ends after this process.
  const child = spawn("/bin/sh", ["-c", SUPERVISOR, "gas-waiver-postgres", command.file, ...command.args], {
    ...command.options,
    detached: true,
    env: C_LOCALE,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let output = "";
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", (error) => {
      output += error.message;
      resolve();
    });
  });
  const ready = new Promise<"ready">((resolve) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-8_192);
      if (/\b(ERROR|FATAL|PANIC):/.test(text))
        config.log.debug({ postgres: text.trim() }, "PostgreSQL reported a problem");
      // The message may arrive in several chunks.
      if (READY.test(output)) resolve("ready");
    });
  });
  if ((await Promise.race([ready, ended])) === "ready") return { server: { process: child, ended } };
  return { output };
}
