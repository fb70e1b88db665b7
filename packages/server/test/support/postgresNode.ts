import { execFile } from "node:child_process";
import {
  appendFile,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createLog } from "../../src/model/telemetry/log.js";
import { createConnection } from "../../src/store/database/database.js";
import { SUPERUSER } from "../../src/store/server/clusterRoles.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/store/server/embedded.js";

const run = promisify(execFile);

/** A log that writes nothing. */
export const silent = createLog("silent");

const OPEN_LOGINS = "local all all trust\nlocal replication all trust\n";

/** One PostgreSQL server of a test, with its files in a folder. */
export class PostgresNode {
  readonly #folder: string;
  readonly #stores: number;
  #server: EmbeddedPostgres | undefined;

  /** @param stores the number of stores that it has connections for. */
  constructor(folder: string, stores = 1) {
    this.#folder = folder;
    this.#stores = stores;
  }

  /** The path of the server's Unix socket; undefined while it does not run. */
  get socket(): string | undefined {
    return this.#server && join(this.#server.connection.host, ".s.PGSQL.5432");
  }

  async start(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    this.#server = await startEmbeddedPostgres(this.#folder, silent, undefined, this.#stores);
    await this.#openToTests();
  }

  /** Lets everybody who reaches the socket log in as any role, the superuser too. */
  async #openToTests(): Promise<void> {
    const rules = join(this.#cluster, "pg_hba.conf");
    if ((await readFile(rules, "utf8")).includes(OPEN_LOGINS)) return;
    await appendFile(rules, OPEN_LOGINS);
    process.kill(await this.pid(), "SIGHUP");
    const deadline = Date.now() + 10_000;
    const isOpen = () =>
      this.query("select").then(
        () => true,
        (error: Error) => error,
      );
    for (let open = await isOpen(); open !== true; open = await isOpen()) {
      if (Date.now() > deadline) throw open;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Stops the server. A primary sends everything to its standby first. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.stop();
  }

  /** Ends the server at once, as a crash of its machine would: it sends nothing more to clients or its standby. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const pid = await this.pid();
    // Stopping keeps the server from being started again.
    const stopped = server.stop();
    process.kill(pid, "SIGQUIT");
    await stopped;
  }

  /** The process id of the running server. */
  async pid(): Promise<number> {
    const lock = await readFile(join(this.#cluster, "postmaster.pid"), "utf8");
    return Number(lock.slice(0, lock.indexOf("\n")));
  }

  /** The superuser's connection. */
  get superuser(): { readonly host: string; readonly user: string; readonly database: string } {
    if (this.#server === undefined) throw new Error("the server does not run");
    return { host: this.#server.connection.host, user: SUPERUSER, database: "postgres" };
  }

  /** Runs statements in the database `postgres`. @returns the rows of the last one. */
  query<Row>(...statements: readonly string[]): Promise<Row[]> {
    return this.queryIn<Row>("postgres", ...statements);
  }

  /** Runs statements in a database of this server. @returns the rows of the last one. */
  async queryIn<Row>(database: string, ...statements: readonly string[]): Promise<Row[]> {
    const client = createConnection({ ...this.superuser, database });
    await client.connect();
    try {
      let rows: Row[] = [];
      for (const statement of statements) ({ rows } = await client.query<Row>(statement));
      return rows;
    } finally {
      await client.end();
    }
  }

  /**
   * Copies this running server's files into another folder, and starts a standby there.
   * @param replicationPort the TCP port of 127.0.0.1 on which the standby reaches its primary.
   */
  async startStandby(folder: string, replicationPort: number): Promise<PostgresNode> {
    const standby = await this.backUp(folder);
    const primary = `host=127.0.0.1 port=${replicationPort} user=gas_waiver application_name=standby sslmode=disable`;
    await standby.#write("standby.signal", "");
    await standby.configure(`primary_conninfo = '${primary}'\nwal_retrieve_retry_interval = '100ms'`);
    await standby.start();
    return standby;
  }

  /** Copies this running server's files into another folder: a base backup. It needs the log that was written meanwhile. */
  async backUp(folder: string): Promise<PostgresNode> {
    const copy = new PostgresNode(folder);
    const backup = createConnection(this.superuser);
    await backup.connect();
    // The backup lasts as long as its connection.
    await backup.query("select pg_backup_start('backup', true)");
    await copyCluster(this.#cluster, copy.#cluster);
    await copyFile(join(this.#folder, "postgres-password"), join(folder, "postgres-password"));
    const { rows } = await backup.query<{ labelfile: string }>(
      "select labelfile from pg_backup_stop(wait_for_archive => false)",
    );
    await backup.end();
    await copy.#write("backup_label", rows[0]?.labelfile ?? "");
    return copy;
  }

  /**
   * Starts a base backup, with these settings for its recovery from the archive, and resolves when it has recovered and
   * takes writes.
   */
  async recover(settings: string): Promise<void> {
    await this.#write("recovery.signal", "");
    await this.configure(settings);
    await this.start();
    const deadline = Date.now() + 30_000;
    const isRecovering = async () => {
      const [row] = await this.query<{ recovering: boolean }>("select pg_is_in_recovery() as recovering");
      return row?.recovering !== false;
    };
    while (await isRecovering()) {
      if (Date.now() > deadline) throw new Error("PostgreSQL does not end its recovery");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Adds lines to the settings of a server that does not run, or that runs and is restarted afterwards. */
  async configure(settings: string): Promise<void> {
    const file = join(this.#cluster, "postgresql.auto.conf");
    await this.#write("postgresql.auto.conf", `${await readFile(file, "utf8")}\n${settings}\n`);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #cluster(): string {
    return join(this.#folder, "postgres");
  }

  async #write(name: string, text: string): Promise<void> {
    const { uid, gid } = await lstat(this.#cluster);
    await writeFile(join(this.#cluster, name), text, { mode: 0o600 });
    await chown(join(this.#cluster, name), uid, gid);
  }
}

/** Files that belong only to the running primary. Of its write-ahead log, only the folders are copied; replication sends the log. */
const NOT_COPIED = ["postmaster.pid", "postmaster.opts"];

/** Copies the files of a running server: thousands, for which Node takes ten times as long as `cp`. */
async function copyCluster(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await run("cp", ["-a", from, to], { env: { ...process.env, LC_ALL: "C" } }).catch(assertOnlyMissing);
  const log = await readdir(join(to, "pg_wal"), { recursive: true, withFileTypes: true });
  const files = log.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const notCopied = NOT_COPIED.map((name) => join(to, name));
  for (const file of [...files, ...notCopied]) await rm(file, { force: true });
}

/** Files that the server removes meanwhile are not part of the backup. */
function assertOnlyMissing(error: Error & { readonly stderr?: string }): void {
  const lines = (error.stderr ?? "").trim().split("\n");
  if (!lines.every((line) => line.endsWith("No such file or directory"))) throw error;
}
