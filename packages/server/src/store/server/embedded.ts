import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../model/errors.js";
import type { Logger } from "../../model/log.js";
import { findBinaries } from "./binaries.js";
import { asUser, type User, unprivilegedUser } from "./unprivilegedUser.js";

const run = promisify(execFile);

/** A PostgreSQL server of our own, whose files lie in one folder. */
export interface EmbeddedPostgres {
  /** How to connect: a Unix socket in a folder that only we can enter. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  stop(): Promise<void>;
}

const USER = "gas_waiver";

/**
 * Runs PostgreSQL on the binaries that npm installed, with its data in `<dataDir>/postgres`, made on the first
 * start. The server lives as long as this process: a shell that waits on our end of a pipe stops it, also when
 * we are killed.
 * @param signal ends the making of the data.
 * @throws {@link StartError} if the binaries are missing, the folder is in use, or PostgreSQL does not start.
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: Logger,
  signal?: AbortSignal,
): Promise<EmbeddedPostgres> {
  const home = await findBinaries();
  const cluster = resolve(dataDir, "postgres");
  const owner = await unprivilegedUser();
  await makeCluster(home, cluster, owner, signal);
  const sockets = await socketFolder(cluster, owner);
  // A start that fails leaves the folder: another service may have its socket there.
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
 * A folder for the server's socket that only we can enter: short, because a socket's path may have 107 bytes, and
 * always the same for a cluster, so that a service that was killed leaves nothing more behind each time.
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
    const { mode, uid: holder } = await lstat(folder);
    // Somebody else's, or not a folder of ours: stay away from it.
    if (holder === uid && (mode & 0o170777) === 0o040700) return folder;
  }
  const other = await mkdtemp(join(tmpdir(), "gas-waiver-"));
  if (owner) await chown(other, owner.uid, owner.gid);
  return other;
}

/**
 * How to reach the PostgreSQL that a running service has in this data folder.
 * @throws {@link StartError} if none runs there.
 */
export async function embeddedConnection(dataDir: string): Promise<EmbeddedPostgres["connection"]> {
  // The fifth line of the server's lock file is the folder of its socket.
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

/** Makes the database cluster on the first start: beside its place, then moved there whole. */
async function makeCluster(
  home: string,
  cluster: string,
  owner: User | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (await exists(cluster)) return;
  await removeHalfMade(cluster);
  const made = `${cluster}.new-${process.pid}`;
  await mkdir(made, { recursive: true, mode: 0o700 });
  try {
    if (owner) await chown(made, owner.uid, owner.gid);
    const flags = ["-U", USER, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"];
    const command = asUser(owner, [join(home, "bin", "initdb"), "-D", made, ...flags]);
    await run(command.file, command.args, { ...command.options, env: C_LOCALE, ...(signal && { signal }) });
    await rename(made, cluster);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    signal?.throwIfAborted();
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new StartError(`PostgreSQL could not set up ${cluster}: ${lastLine(stderr || message)}`);
  }
}

/** What starts that were killed half way left behind. */
async function removeHalfMade(cluster: string): Promise<void> {
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
 * Runs the server ($@) and waits for it. The reader ends when our end of the pipe closes, by stop() or by our
 * death, and asks the server for a fast shutdown. Descriptor 3 keeps the pipe for the reader: a background job
 * of a shell has no standard input.
 */
const SUPERVISOR =
  'exec 3<&0; "$@" </dev/null 3<&- & p=$!; (read -r _ <&3; kill -INT $p) & r=$!; wait $p; c=$?; kill $r; exit $c';

interface Supervised {
  stop(): Promise<void>;
}

interface ServerPlace {
  readonly home: string;
  readonly cluster: string;
  readonly sockets: string;
  readonly owner: User | undefined;
  readonly log: Logger;
}

/** Starts the server and starts it again if it ends before it is told to. */
async function superviseServer(place: ServerPlace): Promise<Supervised> {
  let stopping = false;
  let server = await startServer(place);
  const watch = () => {
    server.ended.then(async () => {
      if (stopping) return;
      place.log.error("the embedded PostgreSQL ended by itself; starting it again");
      try {
        server = await startServer(place);
        watch();
      } catch (error) {
        place.log.fatal({ err: error }, "the embedded PostgreSQL does not start again");
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
/** How long the server of a service that was killed may take to end. */
const TAKEOVER_MS = 5_000;

async function startServer(place: ServerPlace): Promise<RunningServer> {
  const deadline = Date.now() + TAKEOVER_MS;
  for (;;) {
    const started = await spawnServer(place);
    if ("server" in started) return started.server;
    if (!IN_USE.test(started.output)) {
      throw new StartError(`PostgreSQL did not start in ${place.cluster}: ${lastLine(started.output)}`);
    }
    if (Date.now() > deadline) {
      throw new StartError(`the data folder ${dirname(place.cluster)} is in use by another service`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts the server once; resolves when it takes connections, or when it has ended instead. */
async function spawnServer(place: ServerPlace): Promise<{ server: RunningServer } | { output: string }> {
  const settings = ["listen_addresses=", "unix_socket_permissions=0700", "max_connections=60"];
  const command = asUser(place.owner, [
    join(place.home, "bin", "postgres"),
    ...["-D", place.cluster, "-k", place.sockets],
    ...settings.flatMap((setting) => ["-c", setting]),
  ]);
  // A session of its own: an interrupt from the terminal is for us, and the server ends after us.
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
      if (/\b(ERROR|FATAL|PANIC):/.test(text)) place.log.debug({ postgres: text.trim() }, "PostgreSQL said");
      // What it says may come in pieces.
      if (output.includes("database system is ready to accept connections")) resolve("ready");
    });
  });
  if ((await Promise.race([ready, ended])) === "ready") return { server: { process: child, ended } };
  return { output };
}
