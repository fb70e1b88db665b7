import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { prepareCluster, TABLES_TEMPLATE } from "./clusterTemplate.js";
import { PostgresNode, silent } from "./postgresNode.js";
import { TcpForwarder } from "./tcpForwarder.js";

export { silent };

const run = promisify(execFile);

/** Whether a commit waits until the standby has it. */
export type Replication = "asynchronous" | "synchronous";

/**
 * A real PostgreSQL that a test can halt, resume and restart, with a standby on demand. Clients reach it over TCP, as
 * they would reach one on another machine. The address leads to the primary, whichever server that is.
 */
export class TestPostgres {
  #folder = "";
  #nodes = 0;
  #primary: PostgresNode | undefined;
  #standby: PostgresNode | undefined;
  /** Earlier primaries that still run. */
  readonly #retired: PostgresNode[] = [];
  #backup: PostgresNode | undefined;
  #archive = "";
  #isHalted = false;
  readonly #address = new TcpForwarder(() => (this.#isHalted ? undefined : this.#primary?.socket));
  readonly #replication = new TcpForwarder(() => this.#primary?.socket);

  async start(): Promise<this> {
    this.#folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
    const folder = this.#newFolder();
    await prepareCluster(folder);
    this.#primary = new PostgresNode(folder);
    await this.#primary.start();
    await this.#address.open();
    return this;
  }

  /** Creates a database with the tables of the service and nothing in them, and returns its URL. */
  createDatabase(): Promise<string> {
    return this.#createDatabase(TABLES_TEMPLATE);
  }

  /** Creates a database without tables, and returns its URL. */
  createEmptyDatabase(): Promise<string> {
    return this.#createDatabase("template1");
  }

  async #createDatabase(template: string): Promise<string> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await this.primary.query(`create database ${name} template ${template} strategy file_copy`);
    return this.urlOf(name);
  }

  /** The URL of a database on whichever server is the primary. */
  urlOf(database: string): string {
    return `postgres://gas_waiver@127.0.0.1:${this.#address.port}/${database}`;
  }

  get primary(): PostgresNode {
    if (this.#primary === undefined) throw new Error("PostgreSQL has not been started");
    return this.#primary;
  }

  get standby(): PostgresNode {
    if (this.#standby === undefined) throw new Error("there is no standby");
    return this.#standby;
  }

  /** Stops the server: cuts off connected clients, and refuses new connections until `resume`. */
  async halt(): Promise<void> {
    this.#isHalted = true;
    await this.#primary?.stop();
    this.#address.cut();
  }

  async resume(): Promise<void> {
    await this.primary.start();
    this.#isHalted = false;
  }

  /**
   * Ends the server as an operator or a crash would, and resolves when it serves again. `fast` rolls back open
   * transactions; `immediate` drops everything, and the next start recovers from the write-ahead log.
   */
  async restart(how: "fast" | "immediate"): Promise<void> {
    const pid = await this.primary.pid();
    process.kill(pid, how === "fast" ? "SIGINT" : "SIGQUIT");
    const hasRestarted = async () => {
      const now = await this.primary.pid().catch(() => pid);
      return now !== pid && (await succeeds(this.primary.query("select")));
    };
    await until(hasRestarted);
  }

  /** Starts a standby of the primary, and resolves when it follows. */
  async addStandby(replication: Replication): Promise<void> {
    if (this.#standby !== undefined) throw new Error("there is a standby");
    if (this.#nodes === 1) await this.#replication.open();
    const { primary } = this;
    await primary.query("alter system set wal_keep_size = '256MB'", "select pg_reload_conf()");
    this.#standby = await primary.startStandby(this.#newFolder(), this.#replication.port);
    const names = replication === "synchronous" ? "standby" : "";
    await primary.query(`alter system set synchronous_standby_names = '${names}'`, "select pg_reload_conf()");
    await until(() => this.#isFollowed(replication === "synchronous" ? "sync" : "async"));
  }

  /** Keeps commits from reaching the standby, until {@link resumeReplication} or a failover. */
  stallReplication(): void {
    this.#replication.stall();
  }

  resumeReplication(): void {
    this.#replication.resume();
  }

  /** Stops the standby, which gets no commits until {@link startStandby}. */
  async stopStandby(): Promise<void> {
    await this.standby.stop();
  }

  async startStandby(): Promise<void> {
    await this.standby.start();
  }

  /**
   * Kills the primary and makes the standby the primary, which the address leads to from then on. Commits that had not
   * reached the standby are lost. There is no standby afterwards.
   * @param compare reads both servers before any client reaches the new primary. The old one has all that it had committed.
   */
  async failOver(compare?: (old: PostgresNode, next: PostgresNode) => Promise<void>): Promise<void> {
    const [old, next] = [this.primary, this.standby];
    this.#isHalted = true;
    await old.kill();
    this.#replication.resume();
    this.#address.cut();
    await this.#promote(next);
    if (compare) {
      await old.start();
      await compare(old, next);
      await old.kill();
    }
    this.#isHalted = false;
    await old.remove();
  }

  /**
   * Makes the standby the primary while the old one runs on, read-only unless `isFenced` is false. Connections to the old one stay, new
   * ones lead to the new one: a planned change of the primary behind a name.
   * @returns the old one.
   */
  async switchOver({ isFenced = true } = {}): Promise<PostgresNode> {
    const old = this.primary;
    if (isFenced)
      await old.query("alter system set default_transaction_read_only = on", "select pg_reload_conf()");
    await this.#promote(this.standby);
    this.#retired.push(old);
    return old;
  }

  /**
   * Restarts the server with these settings, which keep its log in an archive.
   * @param settings get the path of the archive's folder, which the server may write to.
   */
  async startArchive(settings: (folder: string) => string): Promise<void> {
    const folder = await this.#newArchive();
    await this.primary.configure(settings(folder));
    await this.restart("fast");
  }

  /** Takes a base backup of the running server. */
  async backUp(): Promise<void> {
    this.#backup = await this.primary.backUp(this.#newFolder());
  }

  /** Resolves when the archive has everything that the server has logged so far. */
  async archiveLog(): Promise<void> {
    const [log] = await this.primary.query<{ name: string }>(
      "select pg_walfile_name(pg_switch_wal()) as name",
    );
    const archived = `select from pg_stat_archiver where last_archived_wal >= '${log?.name}'`;
    await until(async () => (await this.primary.query(archived)).length > 0);
  }

  /**
   * Loses the server with its disk, and starts the base backup in its place. The address leads to it from then on.
   * @param settings of its recovery; they get the path of the archive's folder.
   */
  async restore(settings: (archive: string) => string): Promise<void> {
    const [lost, backup] = [this.primary, this.#backup];
    if (backup === undefined) throw new Error("there is no base backup");
    this.#isHalted = true;
    await lost.kill();
    await lost.remove();
    this.#address.cut();
    await backup.recover(settings(this.#archive));
    this.#primary = backup;
    this.#isHalted = false;
  }

  async end(): Promise<void> {
    await this.#standby?.kill();
    await this.#primary?.kill();
    for (const node of this.#retired) await node.kill();
    await this.#address.close();
    if (this.#nodes > 1) await this.#replication.close();
    // Node takes ten times as long to remove thousands of small files.
    if (this.#folder !== "") await run("rm", ["-rf", this.#folder]);
  }

  async #promote(next: PostgresNode): Promise<void> {
    await next.query("select pg_promote()");
    // The copied settings still make commits wait for a standby.
    await next.query("alter system set synchronous_standby_names = ''", "select pg_reload_conf()");
    this.#primary = next;
    this.#standby = undefined;
  }

  async #isFollowed(state: "sync" | "async"): Promise<boolean> {
    const rows = await this.primary.query(
      `select from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`,
    );
    return rows.length > 0;
  }

  /** Makes the archive's folder. PostgreSQL may run as a user of its own, which writes there and reads no other folder. */
  async #newArchive(): Promise<string> {
    this.#archive = join(this.#folder, "archive");
    await mkdir(this.#archive);
    await chmod(this.#archive, 0o777);
    await chmod(this.#folder, 0o711);
    return this.#archive;
  }

  #newFolder(): string {
    this.#nodes++;
    return join(this.#folder, String(this.#nodes));
  }
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("PostgreSQL did not come into the state that the test needs");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
