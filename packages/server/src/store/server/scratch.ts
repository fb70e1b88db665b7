import { createHash, randomUUID } from "node:crypto";
import { appendFile, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../model/errors.js";
import { createLog } from "../../model/telemetry/log.js";
import { createConnection, type Queryable } from "../database/database.js";
import { readSchemaFiles } from "../schema/migrate.js";
import { openStore } from "../store.js";
import { isAlive } from "./cluster.js";
import { SERVICE_ROLE, SUPERUSER } from "./clusterRoles.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded.js";

/*
 * Databases for tests, which nothing has to survive. Making a cluster and its tables takes seconds, so both are kept in a folder of
 * this machine: a process takes a cluster that no other has, and copies the database with the tables for each service.
 */

/** A PostgreSQL of this process for tests. */
export interface ScratchPostgres {
  /** Makes a database with the tables of the service and nothing in them. */
  createDatabase(): Promise<ScratchDatabase>;
  /** Stops the server, and leaves the cluster to the next process. */
  stop(): Promise<void>;
}

export type ScratchDatabase = Awaited<ReturnType<typeof createDatabase>>;

const log = createLog("silent");
const TEMPLATE = "template_of_service";
const COMPLETE = "complete";
/** Only this user reaches the socket. Here the superuser logs in, to make databases. */
const LOGIN_RULES = `local all ${SUPERUSER} trust\nlocal all ${SERVICE_ROLE} scram-sha-256\n`;

/**
 * Starts a PostgreSQL whose data need not survive.
 * @param cacheDir the folder of the clusters: one below the system's folder for temporary files by default.
 * @throws {@link StartError} if the folder is another user's, or PostgreSQL does not start.
 */
export async function startScratchPostgres(cacheDir?: string): Promise<ScratchPostgres> {
  const { folder, release } = await takeFolder(join(cacheDir ?? defaultCache(), await schemaName()));
  try {
    if (!(await isComplete(folder))) await fillFolder(folder);
    const postgres = await startEmbeddedPostgres(folder, log);
    await dropLeftovers(postgres);
    return {
      createDatabase: () => createDatabase(postgres),
      async stop() {
        await postgres.stop();
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

function defaultCache(): string {
  return join(tmpdir(), `gas-waiver-scratch-${process.getuid?.() ?? "user"}`);
}

/** Names the tables, so that another version of the service has clusters of its own. */
async function schemaName(): Promise<string> {
  const { baseline, number } = await readSchemaFiles();
  return createHash("sha256").update(`${number}\n${baseline}`).digest("hex").slice(0, 16);
}

interface TakenFolder {
  readonly folder: string;
  release(): Promise<void>;
}

/** Takes the first folder that no living process has. */
async function takeFolder(parent: string): Promise<TakenFolder> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(parent);
  if (uid !== (process.getuid?.() ?? uid) || (mode & 0o022) !== 0)
    throw new StartError(`${parent} is not this user's alone: remove it, or name another folder`);
  for (let i = 0; ; i++) {
    const folder = join(parent, String(i));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = join(folder, "lock");
    if (await takeLock(lock)) return { folder, release: () => rm(lock, { force: true }) };
  }
}

/** Takes a lock whose process has ended. Where two processes do so at once, PostgreSQL's own lock refuses one of them. */
async function takeLock(lock: string): Promise<boolean> {
  for (;;) {
    try {
      const handle = await open(lock, "wx", 0o600);
      await handle.writeFile(String(process.pid));
      await handle.close();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const owner = Number(await readFile(lock, "utf8").catch(() => ""));
    // A lock without a number is being written at this moment.
    if (owner === 0 || isAlive(owner)) return false;
    // Only one process can move it away.
    const stale = `${lock}.${randomUUID()}`;
    await rename(lock, stale).catch(() => {});
    await rm(stale, { force: true });
  }
}

async function isComplete(folder: string): Promise<boolean> {
  return (await readFile(join(folder, COMPLETE), "utf8").catch(() => undefined)) !== undefined;
}

/** Makes the cluster, and the database with the tables in it. */
async function fillFolder(folder: string): Promise<void> {
  // A process that was killed has left an incomplete cluster.
  for (const name of await readdir(folder))
    if (name !== "lock") await rm(join(folder, name), { recursive: true, force: true });
  await (await startEmbeddedPostgres(folder, log)).stop();
  await appendFile(join(folder, "postgres", "pg_hba.conf"), LOGIN_RULES);
  const postgres = await startEmbeddedPostgres(folder, log);
  try {
    await asSuperuser(postgres, async (db) => {
      // Nothing has to survive a crash of the machine, and a database is created ten times as fast.
      await db.query("alter system set fsync = off");
      await db.query(`create database ${TEMPLATE} owner ${SERVICE_ROLE}`);
    });
    await (await openStore({ databaseUrl: urlOf(postgres, TEMPLATE) }, log)).close();
  } finally {
    await postgres.stop();
  }
  await writeFile(join(folder, COMPLETE), "");
}

async function createDatabase(postgres: EmbeddedPostgres) {
  const name = `scratch_${randomUUID().replaceAll("-", "")}`;
  const execute = (statement: string) => asSuperuser(postgres, (db) => db.query(statement));
  await execute(`create database ${name} template ${TEMPLATE} strategy file_copy owner ${SERVICE_ROLE}`);
  return {
    url: urlOf(postgres, name),
    async drop() {
      await execute(`drop database if exists ${name} with (force)`);
    },
  };
}

/** Drops the databases of processes that were killed. */
async function dropLeftovers(postgres: EmbeddedPostgres): Promise<void> {
  await asSuperuser(postgres, async (db) => {
    const { rows } = await db.query<{ datname: string }>(
      "select datname from pg_database where datname like 'scratch\\_%'",
    );
    for (const { datname } of rows) await db.query(`drop database ${datname} with (force)`);
  });
}

async function asSuperuser<T>(
  { connection: { host } }: EmbeddedPostgres,
  run: (db: Queryable) => Promise<T>,
): Promise<T> {
  const connection = createConnection({ host, user: SUPERUSER, database: "postgres" });
  await connection.connect();
  try {
    return await run(connection);
  } finally {
    await connection.end();
  }
}

function urlOf({ connection: { host, user, password } }: EmbeddedPostgres, database: string): string {
  return `postgres://${user}:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(host)}`;
}
