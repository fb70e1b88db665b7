import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accountsOf } from "@gas-waiver/devnet";
import { bytesToHex, crypto, type Hex, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { makeCertificate } from "../../packages/server/test/support/certificate.js";
import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { DevnetClient } from "../chaos/devnetClient.js";
import { TcpProxy } from "../chaos/tcpProxy.js";
import { geth } from "../nodeZoo/gethNodes.js";
import { ZooNode } from "../nodeZoo/zooNode.js";
import { ChildProgram, GAS_WAIVER } from "../support/childProgram.js";
import { NightProxy } from "./nightProxy.js";
import { NightReplica } from "./nightReplica.js";
import { startCustody, startTlsFront } from "./standIns.js";

const API_KEY = "gw_night_8b1f6e02d94c7a35e0d2c8f1b67a934";
const BLOCK_TIME_MS = 1_000;
/** PostgreSQL behind an address that counts as another machine's, so that its certificate is checked. */
const OFF_LOOPBACK = "0.0.0.0";
const ROLE = "night";
const CONFIG = { "request-timeout": 6_000 };

/** A node of the run: what stands between it and the replicas. */
export interface Node {
  readonly zoo: ZooNode;
  readonly path: TcpProxy;
}

type Closers = (() => unknown)[];

/** All that a night has: a chain with two nodes, a database behind TLS, two waivers, two replicas behind the guide's proxy. */
export type World = Awaited<ReturnType<typeof startProcesses>> & { close(): Promise<void> };

export async function startWorld(): Promise<World> {
  const closers: Closers = [];
  const close = async () => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    return Object.assign(await startProcesses(closers), { close });
  } catch (error) {
    await close();
    throw error;
  }
}

async function startProcesses(closers: Closers) {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-night-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const { chain, nodes } = await startNodes(closers);
  const store = await startStore(file, closers);
  const waiverKeys = accountsOf("waiver").map(({ privateKey }) => hexToBytes(privateKey));
  const custody = await startCustody(waiverKeys);
  closers.push(custody.close);
  const waivers = waiverKeys.map((key) => bytesToHex(privateKeyToAddress(key))) as [Hex, Hex];

  const configure = (changes: Readonly<Record<string, unknown>>) =>
    file("config.json", JSON.stringify({ ...CONFIG, ...changes }));
  const showCertificate = (validTo: Date) => {
    const { cert, key } = makeCertificate({ validTo });
    return ["--tls-cert", file("own.pem", cert), "--tls-key", file("own.key", key)];
  };
  const args = [
    ...["--config", configure({}), "--port", "0", "--metrics-port", "0", "--chain-id", "2201"],
    ...["--rpc-url", nodes.map(({ path }) => path.url).join(",")],
    ...["--web3signer-url", custody.url, "--web3signer-waivers", waivers.join(",")],
    ...showCertificate(inDays(90)),
  ];
  const env = { DATABASE_URL: store.databaseUrl, GAS_WAIVER_API_KEYS: API_KEY };
  const replicas = ["one", "two"].map((name) => new NightReplica(name, args, env)) as [
    NightReplica,
    NightReplica,
  ];
  closers.push(() => Promise.all(replicas.map((replica) => replica.kill())));
  // One after the other: the first one makes the tables.
  for (const replica of replicas) await replica.start();
  const proxy = new NightProxy(replicas);
  await proxy.open();
  closers.push(() => proxy.close());
  const target = {
    apiKeys: [API_KEY, API_KEY] as const,
    replicas: [proxy],
    get head() {
      return nodes[0].zoo.head;
    },
  };
  const reload = () => {
    for (const replica of replicas) replica.signal("SIGHUP");
  };
  return {
    ...{ chain, nodes, ...store, custody, waivers, waiverKeys, replicas, proxy, target },
    /** The key that does not belong to any waiver of the run. */
    strangerKey: crypto.keccak256(new TextEncoder().encode("stranger")),
    /** Hashes of InnerTxs that something else than the service sent. */
    foreign: new Set<Hex>(),
    /** Actions that take away at the end what a trouble has made. */
    closers,
    folder,
    showCertificate,
    /** Changes the configuration file, and has the replicas read it. */
    configure(changes: Readonly<Record<string, unknown>>) {
      configure(changes);
      reload();
    },
    reload,
    /** Runs a command of an operator. @returns its standard output. */
    async gasWaiver(...command: readonly string[]): Promise<string> {
      const env = { DATABASE_URL: store.databaseUrl };
      const { status, out, err } = await new ChildProgram([GAS_WAIVER, ...command], { env }).result();
      if (status !== 0) throw new Error(`gas-waiver ${command.join(" ")}: ${err}`);
      return out;
    },
  };
}

export const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

async function startNodes(closers: Closers) {
  const args = [GAS_WAIVER, "devnet", "--port", "0", "--block-time", String(BLOCK_TIME_MS)];
  const devnet = new ChildProgram(args);
  closers.push(() => devnet.end("SIGKILL"));
  const { url } = await devnet.ready();
  const start = async (): Promise<Node> => {
    const zoo = await ZooNode.inFrontOf(url, geth);
    closers.push(() => zoo.close());
    const path = await TcpProxy.inFrontOf(zoo.url);
    closers.push(() => path.close());
    return { zoo, path };
  };
  const nodes = [await start(), await start()] as const;
  return { chain: new DevnetClient(url), nodes };
}

type WriteFile = (name: string, text: string) => string;

async function startStore(file: WriteFile, closers: Closers) {
  const postgres = await new TestPostgres().start();
  closers.push(() => postgres.end());
  const url = new URL(await postgres.createEmptyDatabase());
  const database = url.pathname.slice(1);
  // A superuser's connections have no limit. A server of the tests is set up for speed, of which an alarm tells.
  await postgres.primary.query(
    "alter system set full_page_writes = on",
    "select pg_reload_conf()",
    `create role ${ROLE} login in role pg_monitor`,
    `alter database ${database} owner to ${ROLE}`,
  );
  // Authorities of one name would be taken for each other.
  const certificate = (name: string, validTo: Date) =>
    makeCertificate({ names: [`${name}.example.com`, OFF_LOOPBACK], validTo });
  const certificates = {
    first: certificate("first", inDays(90)),
    ended: certificate("ended", new Date(Date.now() - 60_000)),
    renewed: certificate("renewed", inDays(90)),
  };
  const front = await startTlsFront(Number(url.port), certificates.first);
  closers.push(front.close);
  const authorities = Object.values(certificates).map(({ cert }) => cert);
  const ca = file("database-ca.pem", authorities.join(""));
  return {
    ...{ postgres, database, role: ROLE, certificates, front },
    databaseUrl: `postgres://${ROLE}@${OFF_LOOPBACK}:${front.port}/${database}?sslrootcert=${ca}`,
    /** Runs statements as an administrator of the database. @returns the rows of the last one. */
    sql: <Row>(...statements: readonly string[]) => postgres.primary.queryIn<Row>(database, ...statements),
  };
}
