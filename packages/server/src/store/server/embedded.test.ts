import { execFile } from "node:child_process";
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { runProgram } from "../../../test/support/childProgram.js";
import { PostgresNode } from "../../../test/support/postgresNode.js";
import { silent } from "../../../test/support/testPostgres.js";
import { StartError } from "../../model/errors.js";
import { createConnection, type DatabaseAddress } from "../database/database.js";
import { openStore } from "../store.js";
import { findBinaries, reachableBinaries } from "./binaries.js";
import { makeCluster } from "./cluster.js";
import { SUPERUSER } from "./clusterRoles.js";
import { type EmbeddedPostgres, embeddedConnection, startEmbeddedPostgres } from "./embedded.js";

const folders: string[] = [];
const running: EmbeddedPostgres[] = [];
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => {
  for (const server of running) await server.stop();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gas-waiver-embedded-"));
  folders.push(folder);
  return folder;
}

async function start(folder: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(folder, silent);
  running.push(server);
  return server;
}

async function query(server: DatabaseAddress, sql: string): Promise<unknown[]> {
  const client = createConnection(server);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A program that starts PostgreSQL on the folder, writes a row, and keeps running. It prints the address as JSON. */
const KEEP_RUNNING = `
  const { createConnection } = await import("./dist/store/database/database.js");
  const { startEmbeddedPostgres } = await import("./dist/store/server/embedded.js");
  const { createLog } = await import("./dist/model/telemetry/log.js");
  const { connection } = await startEmbeddedPostgres(input.folder, createLog("silent"));
  const client = createConnection(connection);
  await client.connect();
  await client.query("create table kept (value text)");
  await client.query("insert into kept values ('durable')");
  console.log(JSON.stringify(connection));
  setInterval(() => {}, 1000);`;

describe("the embedded PostgreSQL", () => {
  let folder = "";
  let first: EmbeddedPostgres;
  beforeAll(async () => {
    folder = await newFolder();
    // The folder that a killed start leaves behind.
    await mkdir(join(folder, "postgres.new-999999999", "base"), { recursive: true });
    await writeFile(join(folder, "postgres.new-999999999", "PG_VERSION"), "18");
    first = await start(folder);
  });

  it("removes an incomplete cluster, and makes its own", async () => {
    expect(await readdir(folder)).toEqual(["postgres", "postgres-password"]);
    expect(await query(first.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("gives the service a role that is no superuser, with a password that only its user reads", async () => {
    const { connection } = first;
    const rights = "rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as privileged";
    expect(await query(connection, `select ${rights} from pg_roles where rolname = current_user`)).toEqual([
      { privileged: false },
    ]);
    const file = join(folder, "postgres-password");
    expect(await readFile(file, "utf8")).toBe(`${connection.password}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await query(connection, "create table stolen (line text)");
    await expect(query(connection, `copy stolen from '${file}'`)).rejects.toThrow(
      "permission denied to COPY from a file",
    );
    await expect(query(connection, "copy stolen from program 'id'")).rejects.toThrow(
      "permission denied to COPY",
    );
  });

  it("lets nobody else log in, nor the service with another password", async () => {
    const { host, user, database } = first.connection;
    const logins = [{ user }, { user, password: "guess" }, { user: SUPERUSER }, { user: "root" }];
    for (const login of logins) {
      await expect(query({ host, database, ...login }, "select 1")).rejects.toThrow(
        /password authentication failed|must be a string|no pg_hba.conf entry/,
      );
    }
  });

  it("refuses a second start on the folder with one sentence", async () => {
    // Lets the 5 seconds pass in which an earlier server might still end.
    const { now } = Date;
    const start = now();
    vi.spyOn(Date, "now").mockImplementation(() => start + 20 * (now() - start));
    const second = startEmbeddedPostgres(folder, silent);
    await expect(second).rejects.toThrow(StartError);
    await expect(second).rejects.toThrow(
      new RegExp(`^the data folder ${folder} is in use by another service$`),
    );
  });

  it("keeps its data when it stops and starts", async () => {
    await query(first.connection, "create table t as select 42 as answer");
    await first.stop();
    await chmod(join(folder, "postgres-password"), 0o644);
    const restarted = await start(folder);
    expect((await stat(join(folder, "postgres-password"))).mode & 0o777).toBe(0o600);
    expect(await query(restarted.connection, "select answer from t")).toEqual([{ answer: 42 }]);
    await restarted.stop();
  });

  it("starts whatever its configuration says of messages", async () => {
    const folder = await newFolder();
    await (await start(folder)).stop();
    const settings = "logging_collector = on\nlog_destination = 'csvlog'\nlog_min_messages = panic\n";
    await appendFile(join(folder, "postgres", "postgresql.conf"), settings);
    const { connection } = await start(folder);
    expect(await query(connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("ends when the process that started it is killed; the next one starts and has all written rows", async () => {
    const data = await newFolder();
    const program = await runProgram(KEEP_RUNNING, { folder: data });
    const connection = JSON.parse(program.line) as EmbeddedPostgres["connection"];
    let onLost: (error?: Error) => void = () => {};
    const cutOff = new Promise((resolve) => {
      onLost = resolve;
    });
    const client = createConnection(connection, { onLost });
    await client.connect();
    await program.kill();
    await cutOff;
    const next = await start(data);
    expect(await query(next.connection, "select value from kept")).toEqual([{ value: "durable" }]);
    expect(next.connection).toEqual(connection);
    await next.stop();
  });
});

describe.skipIf(process.getuid?.() !== 0)("the embedded PostgreSQL of root", () => {
  it("runs as a user of its own, without capabilities, below a folder that only root may enter", async () => {
    const folder = await newFolder();
    await chmod(folder, 0o700);
    const data = join(folder, "data");
    await mkdir(data);
    const { connection } = await start(data);
    const [pid] = (await readFile(join(data, "postgres", "postmaster.pid"), "utf8")).split("\n");
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const uids = /^Uid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$/m.exec(status)?.slice(1).map(Number) ?? [];
    expect(new Set(uids).size).toBe(1);
    expect(
      (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":")[2]),
    ).not.toContain(String(uids[0]));
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) {
      expect(status).toMatch(new RegExp(`^${set}:\t0+$`, "m"));
    }
    expect((await stat(connection.host)).mode & 0o777).toBe(0o700);
    expect((await stat(connection.host)).uid).toBe(uids[0]);
  });

  it("says what to do where its user has no account", async () => {
    const nameless = { uid: 61_183, gid: 61_183 };
    const users = { initial: nameless, own: nameless };
    const place = {
      home: await reachableBinaries(await findBinaries()),
      cluster: join(await newFolder(), "c"),
      users,
    };
    await expect(makeCluster(place, "password", undefined)).rejects.toThrow(
      /user does not exist; give this number an account in \/etc\/passwd, run as another user, or set a database URL$/,
    );
  });

  it("is out of reach of other users, and so is its password", async () => {
    const folder = await newFolder();
    await chmod(folder, 0o755);
    const { connection } = await start(folder);
    const attempt = (program: string) =>
      promisify(execFile)(process.execPath, ["-e", program], { uid: 1, gid: 1, cwd: "/" });
    const socket = JSON.stringify(join(connection.host, ".s.PGSQL.5432"));
    await expect(attempt(`net.connect(${socket})`)).rejects.toThrow(/connect EACCES/);
    const file = JSON.stringify(join(folder, "postgres-password"));
    await expect(attempt(`fs.readFileSync(${file})`)).rejects.toThrow(/EACCES: permission denied/);
  });

  it("reads no file of root, not even as the superuser", async () => {
    const folder = await newFolder();
    const secret = join(folder, "secret");
    await writeFile(secret, "of root\n", { mode: 0o600 });
    await chmod(folder, 0o755);
    const node = new PostgresNode(folder);
    await node.start();
    await node.query("create table stolen (line text)");
    await expect(node.query(`copy stolen from '${secret}'`)).rejects.toThrow(/Permission denied/);
    await expect(node.query(`copy stolen from program 'cat ${secret}'`)).rejects.toThrow(/failed/);
    await node.stop();
  });

  it("takes over the cluster of another user", async () => {
    const folder = await newFolder();
    const first = await start(folder);
    await query(first.connection, "create table kept as select 'kept' as value");
    await first.stop();
    const cluster = join(folder, "postgres");
    await promisify(execFile)("chown", ["-R", "1:1", cluster]);
    const restarted = await start(folder);
    expect(await query(restarted.connection, "select value from kept")).toEqual([{ value: "kept" }]);
    expect((await stat(cluster)).uid).toBeGreaterThan(1_000);
  });
});

describe("a data folder whose password was lost", () => {
  it("gets another one, also where the start that makes it is killed half-way", async () => {
    const folder = await newFolder();
    const server = await start(folder);
    await query(server.connection, "create table kept as select 'durable' as value");
    await rm(join(folder, "postgres-password"));
    await expect(embeddedConnection(folder)).rejects.toThrow(/has lost the password of its database/);
    await server.stop();

    const program = await runProgram(`console.log("starting");${KEEP_RUNNING}`, { folder });
    await expect.poll(() => readdir(folder), { timeout: 60_000 }).toContain("postgres-password");
    await program.kill();
    const again = await start(folder);
    expect(again.connection.password).not.toBe(server.connection.password);
    expect(await query(again.connection, "select value from kept")).toEqual([{ value: "durable" }]);
    await query(again.connection, "alter table kept add column more text");
    await again.stop();
  });
});

describe("a data folder whose server is still ending", () => {
  it("is taken over however long that takes", async () => {
    const folder = await newFolder();
    const program = await runProgram(KEEP_RUNNING, { folder });
    const lock = async () => (await readFile(join(folder, "postgres", "postmaster.pid"), "utf8")).split("\n");
    const [postmaster] = await lock();
    const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,args="]);
    const processes = stdout.split("\n").map((line) => line.trim().split(/\s+/));
    const ofServer = processes.filter(([, parent]) => parent === postmaster);
    const checkpointer = Number(ofServer.find((args) => args.includes("checkpointer"))?.[0]);
    process.kill(checkpointer, "SIGSTOP");
    await program.kill();
    await expect.poll(async () => (await lock())[7]?.trim(), { timeout: 60_000 }).toBe("stopping");
    // Each look at the clock is eight seconds after the one before.
    let looks = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => 8_000 * looks++);
    const again = start(folder);
    await vi.waitUntil(() => looks > 3, { timeout: 60_000 });
    clock.mockRestore();
    process.kill(checkpointer, "SIGCONT");
    expect(await query((await again).connection, "select value from kept")).toEqual([{ value: "durable" }]);
    await (await again).stop();
  });
});

describe("a data folder that cannot be used", () => {
  it("fails the start if somebody else has put a password there, and changes nothing of what a link names", async () => {
    const folder = await newFolder();
    const file = join(folder, "postgres-password");
    await writeFile(file, "x'; select 'a statement of the superuser\n");
    await expect(openStore({ dataDir: folder }, silent)).rejects.toThrow(
      /is not the password of the database/,
    );
    const foreign = join(folder, "foreign");
    await rename(file, foreign);
    await chmod(foreign, 0o644);
    await symlink(foreign, file);
    await expect(openStore({ dataDir: folder }, silent)).rejects.toThrow(/cannot be read: it is a link/);
    expect((await stat(foreign)).mode & 0o777).toBe(0o644);
  });

  it("fails the start with one sentence", async () => {
    const file = join(await newFolder(), "file");
    await writeFile(file, "");
    const opened = openStore({ dataDir: join(file, "data") }, silent);
    await expect(opened).rejects.toThrow(StartError);
    await expect(opened).rejects.toThrow(/^the data folder .* cannot be made: .+$/);
  });

  it("fails the start with one sentence where its socket can have no folder", async () => {
    const data = await newFolder();
    vi.stubEnv("TMPDIR", join(data, "none"));
    const opened = openStore({ dataDir: data }, silent).finally(() => vi.unstubAllEnvs());
    await expect(opened).rejects.toThrow(
      /^the folder of the database's socket cannot be made: .*; set TMPDIR$/,
    );
  });

  it("fails the start with PostgreSQL's last message if the folder is not a cluster", async () => {
    const data = await newFolder();
    await mkdir(join(data, "postgres"));
    const opened = openStore({ dataDir: data }, silent);
    await expect(opened).rejects.toThrow(StartError);
    await expect(opened).rejects.toThrow(/PostgreSQL did not start in/);
  });
});
