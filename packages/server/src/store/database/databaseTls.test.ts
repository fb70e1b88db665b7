// The database's certificate is checked unless it is on this machine or the URL says otherwise.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, connect as openSocket, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { openStore } from "../store.js";
import { databaseRoute } from "./database.js";
import { databaseTlsWarning } from "./databaseTls.js";

/** Leads to this machine, although it is not one of its loopback addresses. */
const OFF_LOOPBACK = "0.0.0.0";

const warningOf = (connectionString: string) => databaseTlsWarning(databaseRoute({ connectionString }));

describe("a database URL", () => {
  it.each([
    ["postgres://u@db.example/x", true],
    ["postgres://u@10.0.0.5/x?application_name=y", true],
    ["postgres://u@[2001:db8::1]/x", true],
    ["postgres://u@127.0.0.1/x?host=db.example", true],
    ["postgres://u@db.example/x?sslmode=", true],
    ["postgres://u@127.0.0.1/x", false],
    ["postgres://u@[::1]/x", false],
    ["postgres://u@localhost/x", false],
    ["postgres://u@/x?host=/run/postgresql", false],
    ["postgres://u@%2Frun%2Fpostgresql/x", false],
  ])("%s asks for a checked certificate: %s", (connectionString, isChecked) => {
    expect(databaseRoute({ connectionString }).ssl).toBe(isChecked);
    expect(warningOf(connectionString)).toBeUndefined();
  });

  it.each([
    ["sslmode=disable", "turns TLS off"],
    ["ssl=0", "turns TLS off"],
    ["sslmode=no-verify", "checks no certificate"],
    ["uselibpqcompat=true&sslmode=require", "checks no certificate"],
    ["uselibpqcompat=true&sslmode=prefer", "checks no certificate"],
  ])("with %s draws a warning that it %s, but on this machine", (parameters, warning) => {
    expect(warningOf(`postgres://u@db.example/x?${parameters}`)).toContain(`DATABASE_URL ${warning}`);
    expect(warningOf(`postgres://u@127.0.0.1/x?${parameters}`)).toBeUndefined();
  });
});

describe("a database off loopback", () => {
  const databases = useTestPostgres("tcp");
  const own = makeCertificate({ names: [OFF_LOOPBACK] });
  const foreign = makeCertificate({ names: ["db.example"] });
  const opened: Socket[] = [];
  let folder = "";
  let database = "";
  /** Takes TLS off, as a PostgreSQL with `ssl = on` does after the client's 8 bytes of SSLRequest. */
  const front = createServer((client) => {
    client.once("data", () => {
      client.write("S");
      const plain = new TLSSocket(client, { isServer: true, ...shown });
      const server = openSocket(Number(new URL(database).port), "127.0.0.1");
      opened.push(client, server);
      for (const socket of [client, plain, server]) socket.on("error", () => {});
      plain.pipe(server).pipe(plain);
    });
  });
  let shown = own;
  afterEach(() => {
    shown = own;
  });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "gas-waiver-tls-"));
    database = await databases.createEmptyDatabase();
    await writeFile(join(folder, "ca.pem"), own.cert);
    await writeFile(join(folder, "foreign.pem"), foreign.cert);
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    for (const socket of opened) socket.destroy();
    front.close();
    await rm(folder, { recursive: true });
  });

  const offLoopback = (port: string | number, parameters = "") => {
    const { pathname } = new URL(database);
    return `postgres://gas_waiver@${OFF_LOOPBACK}:${port}${pathname}${parameters}`;
  };
  const open = async (databaseUrl: string) => (await openStore({ databaseUrl }, silent)).close();
  const frontPort = () => (front.address() as { port: number }).port;

  it("is refused without TLS, with a word on how to go on, unless the URL asks for that", async () => {
    const { port } = new URL(database);
    await expect(open(offLoopback(port))).rejects.toThrow(
      /does not support SSL connections.*; DATABASE_URL names no sslmode, .*sslrootcert=FILE/,
    );
    await open(offLoopback(port, "?sslmode=disable"));
  });

  it("is used with a certificate for its address, of an authority that the URL names", async () => {
    await open(offLoopback(frontPort(), `?sslrootcert=${folder}/ca.pem`));
    await open(offLoopback(frontPort(), `?sslmode=verify-full&sslrootcert=${folder}/ca.pem`));
    await expect(open(offLoopback(frontPort()))).rejects.toThrow(/self-signed certificate.*names no sslmode/);
    await open(offLoopback(frontPort(), "?sslmode=no-verify"));
  });

  it("is used with a renewed certificate, of an authority in the same file, by connections that are made then", async () => {
    const file = join(folder, "renewed.pem");
    await writeFile(file, own.cert);
    const store = await openStore(
      { databaseUrl: offLoopback(frontPort(), `?sslmode=verify-full&sslrootcert=${file}`) },
      silent,
    );
    onTestFinished(() => store.close());
    const renewed = makeCertificate({ names: [OFF_LOOPBACK] });
    shown = renewed;
    await writeFile(file, renewed.cert);
    for (const socket of opened.splice(0)) socket.destroy();
    await expect.poll(() => store.pool.query("select 1").then(({ rowCount }) => rowCount)).toBe(1);
  });

  it("is refused with a certificate for another name", async () => {
    shown = foreign;
    await expect(open(offLoopback(frontPort(), `?sslrootcert=${folder}/foreign.pem`))).rejects.toThrow(
      /does not match certificate's altnames/,
    );
  });

  it("is refused with one sentence where the file of the authority is missing", async () => {
    await expect(open(offLoopback(frontPort(), "?sslrootcert=/nowhere.pem"))).rejects.toThrow(
      /^DATABASE_URL cannot be used: ENOENT.*nowhere\.pem/,
    );
  });
});
