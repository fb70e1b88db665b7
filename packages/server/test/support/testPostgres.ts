import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/model/log.js";
import { createConnection } from "../../src/store/database.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/store/server/embedded.js";

/** A log that writes nothing. */
export const silent = createLog("silent");

/**
 * A real PostgreSQL that a test can halt, resume and restart. Clients reach it over TCP, as they would reach one on
 * another machine.
 */
export class TestPostgres {
  #folder = "";
  #server: EmbeddedPostgres | undefined;
  readonly #proxy = createServer({ noDelay: true }, (socket) => this.#forward(socket));
  readonly #sockets = new Set<Socket>();

  async start(): Promise<this> {
    this.#folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
    await this.resume();
    await new Promise<void>((resolve) => this.#proxy.listen(0, "127.0.0.1", resolve));
    // No test cuts the machine's power, and without fsync PostgreSQL creates a database ten times as fast.
    await this.#administer("alter system set fsync = off", "select pg_reload_conf()");
    return this;
  }

  /** Creates an empty database, and returns its URL. */
  async createDatabase(): Promise<string> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await this.#administer(`create database ${name}`);
    return this.#urlOf(name);
  }

  /** Stops the server: cuts off connected clients, and refuses new connections until `resume`. */
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
   * Ends the server as an operator or a crash would, and resolves when it serves again. `fast` rolls back open
   * transactions; `immediate` drops everything, and the next start recovers from the write-ahead log.
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
    const closed = new Promise((resolve) => this.#proxy.close(resolve));
    await this.halt();
    await closed;
    if (this.#folder !== "") await rm(this.#folder, { recursive: true, force: true });
  }

  async #administer(...commands: string[]): Promise<void> {
    const client = createConnection({ connectionString: this.#urlOf("postgres") });
    await client.connect();
    for (const command of commands) await client.query(command);
    await client.end();
  }

  #urlOf(database: string): string {
    return `postgres://gas_waiver@127.0.0.1:${(this.#proxy.address() as AddressInfo).port}/${database}`;
  }

  #forward(socket: Socket): void {
    const server = this.#server;
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
    if (server === undefined) {
      socket.destroy();
      return;
    }
    const upstream = connect(join(server.connection.host, ".s.PGSQL.5432"));
    upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }
}
