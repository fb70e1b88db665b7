import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chown, lstat, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { StartError } from "../../model/errors.js";
import type { Logger } from "../../model/telemetry/log.js";
import { findBinaries, reachableBinaries } from "./binaries.js";
import { createTakeover, IN_USE, makeCluster, takeOverCluster } from "./cluster.js";
import { forgetRestriction, PROGRAM_ENVIRONMENT, SERVICE_ROLE } from "./clusterRoles.js";
import { ensurePassword, readPassword } from "./databasePassword.js";
import { clusterCommand, databaseUsers, type User } from "./unprivilegedUser.js";

/** A running PostgreSQL server whose files lie in one folder. */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

/** The connections that the server takes: those of a store, and room for commands beside the service. */
const CONNECTIONS = 60;
const CONNECTIONS_OF_FURTHER_STORE = 30;

/**
 * Runs the PostgreSQL that npm installed, with its data in `<dataDir>/postgres`, which the first start makes. The server
 * lives as long as this process: a shell reads from a pipe that this process holds, and stops the server when the pipe
 * closes, also after SIGKILL.
 * @param signal aborts the first start's `initdb`.
 * @param stores the number of stores that it has connections for: one for each network of a service.
 * @throws {@link StartError} if the binaries are missing, the folder is in use, or PostgreSQL does not start.
 */
export async function startEmbeddedPostgres(dataDir: string, log: Logger, signal?: AbortSignal, stores = 1) {
  const maxConnections = CONNECTIONS + (stores - 1) * CONNECTIONS_OF_FURTHER_STORE;
  const installed = await findBinaries();
  const cluster = resolve(dataDir, "postgres");
  const users = await databaseUsers(cluster);
  const home = users ? await reachableBinaries(installed) : installed;
  // Only restricting the logins again makes a new password the role's.
  if ((await readPassword(dataDir)) === undefined) await forgetRestriction(cluster);
  const password = await ensurePassword(dataDir);
  const place = { home, cluster, users };
  if (await exists(cluster)) await takeOverCluster(place, password, signal);
  else await makeCluster(place, password, signal);
  const owner = users?.own;
  const sockets = await socketFolder(cluster, owner);
  // A failed start leaves the socket folder, because another service on this data may have its socket there.
  const server = await superviseServer({ home, cluster, sockets, owner, log, maxConnections });
  return {
    /** The address of the server, a Unix socket in a folder that only this user can enter, and the login of the service. */
    connection: { host: sockets, user: SERVICE_ROLE, password, database: "postgres" },
    async stop() {
      await server.stop();
      await rm(sockets, { recursive: true, force: true });
    },
  };
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

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
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST")
      throw new StartError(`the folder of the database's socket cannot be made: ${message}; set TMPDIR`);
    const { mode, uid: folderOwner } = await lstat(folder);
    // Use an existing folder only if this user owns it and nobody else can enter it.
    if (folderOwner === uid && (mode & 0o170777) === 0o040700) return folder;
  }
  const other = await mkdtemp(join(tmpdir(), "gas-waiver-"));
  if (owner) await chown(other, owner.uid, owner.gid);
  return other;
}

/**
 * Finds the address of the PostgreSQL that a running service has in this data folder, and the login for the driver.
 * @throws {@link StartError} if none runs there, or its password is lost.
 */
export async function embeddedConnection(dataDir: string) {
  // The fifth line of PostgreSQL's lock file names the folder of its socket.
  const lock = await readFile(join(resolve(dataDir, "postgres"), "postmaster.pid"), "utf8").catch(() => "");
  const host = lock.split("\n")[4];
  if (!host) throw new StartError(`no service runs on the data folder ${dataDir}`);
  const password = await readPassword(dataDir);
  if (password === undefined)
    throw new StartError(
      `the data folder ${dataDir} has lost the password of its database; the next start of the service makes one`,
    );
  return { host, user: SERVICE_ROLE, password, database: "postgres" };
}

/**
 * The shell script that runs the server (`$@`) and waits for it. A reader in the background ends when this process closes
 * its end of the pipe or dies, and then asks the server for a fast shutdown (SIGINT). Descriptor 3 keeps the pipe for the
 * reader, because a background job of a shell has no standard input.
 */
const SUPERVISOR =
  'exec 3<&0; "$@" </dev/null 3<&- & p=$!; (read -r _ <&3; kill -INT $p) & r=$!; wait $p; c=$?; kill $r; exit $c';

interface ServerConfig {
  readonly home: string;
  readonly cluster: string;
  readonly sockets: string;
  readonly owner: User | undefined;
  readonly maxConnections: number;
  readonly log: Logger;
}

/** Starts the server, and starts it again if it ends before `stop`. */
async function superviseServer(config: ServerConfig) {
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

async function startServer(config: ServerConfig): Promise<RunningServer> {
  const wait = createTakeover(config.cluster);
  for (;;) {
    const started = await spawnServer(config);
    if ("server" in started) return started.server;
    if (!IN_USE.test(started.output)) {
      throw new StartError(
        `PostgreSQL did not start in ${config.cluster}: ${started.output.trim().split("\n").at(-1)}`,
      );
    }
    await wait();
  }
}

/** A standby accepts connections that only read. */
const READY = /database system is ready to accept (read-only )?connections/;

/** Starts the server once. Resolves when it accepts connections, or with its output when it has ended instead. */
async function spawnServer(config: ServerConfig): Promise<{ server: RunningServer } | { output: string }> {
  const settings = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    `max_connections=${config.maxConnections}`,
    // The start is over when a message says so, which the cluster's own configuration may send elsewhere, or translate.
    ...["log_destination=stderr", "logging_collector=off", "log_min_messages=warning", "lc_messages=C"],
  ];
  const command = clusterCommand(config.owner, config.cluster, [
    join(config.home, "bin", "postgres"),
    ...["-k", config.sockets],
    ...settings.flatMap((setting) => ["-c", setting]),
  ]);
  // In a session of its own, the server gets no interrupt from the terminal, and ends after this process.
  const child = spawn("/bin/sh", ["-c", SUPERVISOR, "gas-waiver-postgres", command.file, ...command.args], {
    ...command.options,
    detached: true,
    env: PROGRAM_ENVIRONMENT,
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
