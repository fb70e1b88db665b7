import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Connection, createConnection } from "../../src/store/database/database.js";
import { SUPERUSER } from "../../src/store/server/clusterRoles.js";
import { TABLES_TEMPLATE } from "./clusterTemplate.js";
import { runPostgresHost } from "./runPostgres.js";
import { TcpForwarder } from "./tcpForwarder.js";
import { endSessions } from "./testSessions.js";

/** How the tests reach their databases: by the server's Unix socket, or over TCP as on another machine. */
export type Reach = "socket" | "tcp";

/** The databases of a test file, in the PostgreSQL that all test files share. */
export class TestDatabases {
  readonly #names: string[] = [];
  readonly #forwarder: TcpForwarder | undefined;
  #host = "";
  #isHalted = false;
  #superuser: Promise<Connection> | undefined;

  constructor(reach: Reach = "socket") {
    const socket = () => (this.#isHalted ? undefined : join(this.#host, ".s.PGSQL.5432"));
    if (reach === "tcp") this.#forwarder = new TcpForwarder(socket);
  }

  /** Creates a database with the tables of the service and nothing in them, and returns its URL. */
  createDatabase(): Promise<string> {
    return this.#create(TABLES_TEMPLATE);
  }

  /** Creates a database without tables, and returns its URL. */
  createEmptyDatabase(): Promise<string> {
    return this.#create("template1");
  }

  /** Runs statements as the superuser, in the database `postgres`. */
  async query(...statements: readonly string[]): Promise<void> {
    this.#superuser ??= this.#connect();
    const connection = await this.#superuser;
    for (const statement of statements) await connection.query(statement);
  }

  /** Ends the sessions of the file's databases, and refuses new ones until `resume`, as a server does that stops. Only over TCP. */
  async halt(): Promise<void> {
    if (this.#forwarder === undefined) throw new Error("a test halts databases that it reaches over TCP");
    this.#isHalted = true;
    const names = this.#names.map((name) => `'${name}'`).join();
    await this.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname in (${names})`,
    );
    this.#forwarder.cut();
  }

  resume(): void {
    this.#isHalted = false;
  }

  /** Drops the databases. */
  async end(): Promise<void> {
    for (const name of this.#names) await endSessions(this.#urlOf(name));
    await this.#forwarder?.close();
    for (const name of this.#names.splice(0)) await this.query(`drop database ${name} with (force)`);
    await (await this.#superuser)?.end();
    this.#superuser = undefined;
  }

  async #create(template: string): Promise<string> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await this.query(`create database ${name} template ${template} strategy file_copy`);
    this.#names.push(name);
    if (this.#forwarder?.port === 0) await this.#forwarder.open();
    return this.#urlOf(name);
  }

  #urlOf(name: string): string {
    return this.#forwarder === undefined
      ? `postgres://${SUPERUSER}@localhost/${name}?host=${encodeURIComponent(this.#host)}`
      : `postgres://${SUPERUSER}@127.0.0.1:${this.#forwarder.port}/${name}`;
  }

  async #connect(): Promise<Connection> {
    this.#host = await runPostgresHost();
    const connection = createConnection({ host: this.#host, user: SUPERUSER, database: "postgres" });
    await connection.connect();
    return connection;
  }
}
