import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createLog } from "../../src/model/log.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/store/server/embedded.js";
import { openStore, type Store } from "../../src/store/store.js";

export const silent = createLog("silent");

/** A real PostgreSQL for one test file, reached over TCP as a server elsewhere would be, that can be stopped. */
export class TestPostgres {
  readonly #folder: string;
  #server: EmbeddedPostgres | undefined;
  readonly #door: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#door = createServer({ noDelay: true }, (socket) => this.#pass(socket));
  }

  static async start(): Promise<TestPostgres> {
    const postgres = new TestPostgres(await mkdtemp(join(tmpdir(), "gas-waiver-test-")));
    await postgres.resume();
    await new Promise<void>((resolve) => postgres.#door.listen(0, "127.0.0.1", resolve));
    // No test cuts the machine's power, and a database of its own is ten times as fast to make.
    await postgres.#administer("alter system set fsync = off", "select pg_reload_conf()");
    return postgres;
  }

  /** A database of a test's own, empty. */
  async createDatabase(): Promise<string> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await this.#administer(`create database ${name}`);
    return this.#urlOf(name);
  }

  /** A store on a database of its own. */
  async openStore(): Promise<Store> {
    return await openStore({ databaseUrl: await this.createDatabase() }, silent);
  }

  /** Ends the server: who is connected is cut off, who comes is turned away. */
  async halt(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.stop();
    for (const socket of this.#sockets) socket.destroy();
  }

  async resume(): Promise<void> {
    this.#server = await startEmbeddedPostgres(this.#folder, silent);
  }

  /**
   * Ends the server as an operator or a crash would, and resolves when it serves again: `fast` rolls back what is
   * under way, `immediate` drops everything, and the next start recovers from the log.
   */
  async restart(how: "fast" | "immediate"): Promise<void> {
    const lock = await readFile(join(this.#folder, "postgres", "postmaster.pid"), "utf8");
    const pid = lock.slice(0, lock.indexOf("\n"));
    process.kill(Number(pid), how === "fast" ? "SIGINT" : "SIGQUIT");
    const isNew = async () => {
      const now = await readFile(join(this.#folder, "postgres", "postmaster.pid"), "utf8").catch(() => "");
      return now !== "" && now.slice(0, now.indexOf("\n")) !== pid;
    };
    for (let serves = false; !serves; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      serves =
        (await isNew()) &&
        (await this.#administer("select").then(
          () => true,
          () => false,
        ));
    }
  }

  async end(): Promise<void> {
    const closed = new Promise((resolve) => this.#door.close(resolve));
    await this.halt();
    await closed;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #administer(...commands: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: this.#urlOf("postgres") });
    await client.connect();
    for (const command of commands) await client.query(command);
    await client.end();
  }

  #urlOf(database: string): string {
    return `postgres://gas_waiver@127.0.0.1:${(this.#door.address() as AddressInfo).port}/${database}`;
  }

  #pass(socket: Socket): void {
    const server = this.#server;
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
    if (server === undefined) {
      socket.destroy();
      return;
    }
    const inside = connect(join(server.connection.host, ".s.PGSQL.5432"));
    inside.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => inside.destroy());
    socket.pipe(inside).pipe(socket);
  }
}
