import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accountsOf, TEST_TOKEN_ADDRESS } from "@gas-waiver/devnet";
import { bytesToHex, crypto, type Hex, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { type LaneAdmin, openKeyAdmin, openLaneAdmin } from "@gas-waiver/server";
import { Pool } from "../../packages/server/src/store/database/database.js";
import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { geth } from "../nodeZoo/gethNodes.js";
import type { Personality } from "../nodeZoo/personality.js";
import { ZooNode } from "../nodeZoo/zooNode.js";
import { ChildProgram, GAS_WAIVER } from "../support/childProgram.js";
import { CAPS } from "./caps.js";
import { ChainLoss } from "./chainLoss.js";
import { DevnetClient } from "./devnetClient.js";
import { Replica } from "./replica.js";
import { StoreLoss } from "./storeLoss.js";
import { TcpProxy } from "./tcpProxy.js";

export type PoolKind = "strict" | "queued";

const FIXED_KEY = "gw_chaos_8b1f6e02d94c7a35e0d2c8f1b67a9345";

const SELECTORS = ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"];
const BLOCK_TIME_MS = 150;

/** The processes of a run: a chain, a database, and replicas of the service. */
export interface Environment {
  readonly pool: PoolKind;
  readonly chain: DevnetClient;
  /** The node that the replicas reach the chain through. */
  readonly node: ZooNode;
  /** A second node, which the replicas turn to when the first one fails them; undefined if there is none. */
  readonly spare: ZooNode | undefined;
  readonly postgres: TestPostgres;
  /** The name of the service's database. */
  readonly database: string;
  readonly storeLoss: StoreLoss;
  readonly chainLoss: ChainLoss;
  /** The deepest reorg that the replicas reckon with. */
  readonly reorgDepth: number;
  readonly replicas: readonly Replica[];
  readonly lanes: LaneAdmin;
  /** The private keys of the registered waivers. A replica has all or some of them. */
  readonly waiverKeys: readonly Uint8Array[];
  readonly waivers: readonly Hex[];
  /** A key of the replicas' configuration, and a key of the store with daily caps. */
  readonly apiKeys: readonly [string, string];
  readonly cappedKeyId: string;
  /** The chain's head; it may lag a little. */
  readonly head: number;
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface EnvironmentOptions {
  readonly pool: PoolKind;
  /** The number of replicas. */
  readonly replicas: number;
  readonly seed: number;
  /** The deepest reorg that the replicas reckon with; 0 by default. */
  readonly reorgDepth?: number;
  /** The kind of node; geth by default. */
  readonly personality?: Personality;
  /** There is a second node behind the first one. */
  readonly hasSpare?: boolean;
  /** Two of the four waivers have narrower targets than the others, and all replicas follow the registry. */
  readonly differentPolicies?: boolean;
  /** Flags of the replicas, which replace the run's own. */
  readonly flags?: readonly string[];
  /** A PostgreSQL that serves several environments, one after the other. */
  readonly postgres?: TestPostgres;
}

/** Actions that close what has been started, in the order of the starts. */
type Closers = (() => unknown)[];

export async function startEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const closers: Closers = [];
  const close = async () => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    // Not spread into a new object, which would copy the value of `head` instead of its getter.
    return Object.assign(await startProcesses(options, closers), { close });
  } catch (error) {
    await close();
    throw error;
  }
}

async function startProcesses(options: EnvironmentOptions, closers: Closers) {
  const { pool, replicas: count, seed, personality = geth, reorgDepth = 0 } = options;
  const flags = ["--reorg-depth", String(reorgDepth), ...(options.flags ?? [])];
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-chaos-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = options.postgres ?? (await startPostgres(closers));
  const databaseUrl = await postgres.createDatabase();
  const { chain, url } = await startDevnet(pool, closers);
  const waiverKeys = keysOf(seed);
  const waivers = waiverKeys.map((key) => bytesToHex(privateKeyToAddress(key)));
  const { hasSpare = false, differentPolicies = false } = options;
  for (const [i, waiver] of waivers.slice(2).entries()) {
    const selectors = SELECTORS.slice(0, i + 1);
    const targets = differentPolicies && { targets: [{ address: TEST_TOKEN_ADDRESS, selectors }] };
    await chain.call("devnet_registerWaiver", { waiver, ...targets });
  }
  const node = await ZooNode.inFrontOf(url, personality);
  closers.push(() => node.close());
  const spare = hasSpare ? await ZooNode.inFrontOf(url, personality) : undefined;
  closers.push(() => spare?.close());
  const nodes = { rpcUrl: node.url, spareUrl: spare?.url, differentPolicies };
  const replicas = await startReplicas({ folder, databaseUrl, count, ...nodes, waiverKeys, flags }, closers);
  const client = new Pool({
    ...{ connectionString: databaseUrl, connectTimeoutMs: 3_000 },
    ...{ maxConnections: 2, answerTimeoutMs: 600_000 },
  });
  closers.push(() => client.end());
  const lanes = await openLaneAdmin({ databaseUrl });
  closers.push(() => lanes.close());
  const { key, record } = await createCappedKey(databaseUrl, replicas);
  const headFollower = followHead(chain);
  closers.push(() => headFollower.close());
  const apiKeys: readonly [string, string] = [FIXED_KEY, key];
  return {
    ...{
      pool,
      chain,
      node,
      spare,
      postgres,
      reorgDepth,
      replicas,
      lanes,
      storeLoss: new StoreLoss(),
      chainLoss: new ChainLoss(),
    },
    database: new URL(databaseUrl).pathname.slice(1),
    ...{ waiverKeys, waivers, apiKeys, cappedKeyId: record.id },
    get head() {
      return headFollower.number;
    },
    query: queryPrimary(postgres, client),
  };
}

/** Queries the present primary. After a switchover, the old one still serves its connections, with old rows. */
function queryPrimary(postgres: TestPostgres, pool: Pool): Environment["query"] {
  let connectedTo = postgres.primary;
  return async <Row>(sql: string, parameters: readonly unknown[] = []) => {
    if (connectedTo !== postgres.primary) pool.renew();
    connectedTo = postgres.primary;
    return (await pool.query<Row>(sql, parameters)).rows;
  };
}

interface ReplicasOptions {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly count: number;
  readonly rpcUrl: string;
  readonly spareUrl: string | undefined;
  readonly differentPolicies: boolean;
  readonly waiverKeys: readonly Uint8Array[];
  readonly flags: readonly string[];
}

async function startPostgres(closers: Closers): Promise<TestPostgres> {
  const postgres = await new TestPostgres().start();
  closers.push(() => postgres.end());
  return postgres;
}

async function startReplicas(options: ReplicasOptions, closers: Closers): Promise<Replica[]> {
  const { folder, databaseUrl, count, rpcUrl, spareUrl, differentPolicies, waiverKeys, flags } = options;
  const policyFile = join(folder, "policy.json");
  writeFileSync(policyFile, JSON.stringify([{ address: TEST_TOKEN_ADDRESS, selectors: SELECTORS }]));
  const common = { folder, databaseUrl, policyFile, apiKeys: [FIXED_KEY], spareUrl, flags };
  const replicas: Replica[] = [];
  for (let i = 0; i < count; i++) {
    const proxy = await TcpProxy.inFrontOf(rpcUrl);
    closers.push(() => proxy.close());
    // The first replica learns of a revoked waiver by the node's refusals, the others from the registry.
    const policySource = i === 0 && !differentPolicies ? "config" : "both";
    const replica = new Replica(`replica ${i + 1}`, proxy, { ...common, policySource }, waiverKeys);
    closers.push(() => replica.kill());
    replicas.push(replica);
  }
  await Promise.all(replicas.map((replica) => replica.start()));
  return replicas;
}

/** Creates an API key with daily caps, and waits until all replicas know it. */
async function createCappedKey(databaseUrl: string, replicas: readonly Replica[]) {
  const keys = await openKeyAdmin({ databaseUrl });
  const issued = await keys
    .create("chaos", { label: "with caps", env: "test", caps: { senderGas: null, ...CAPS } })
    .finally(() => keys.close());
  const headers = { authorization: `Bearer ${issued.key}` };
  for (const { url } of replicas) while ((await fetch(`${url}/v1/ready`, { headers })).status === 401);
  return issued;
}

async function startDevnet(pool: PoolKind, closers: Closers) {
  const args = [GAS_WAIVER, "devnet", "--port", "0", "--pool", pool, "--block-time", String(BLOCK_TIME_MS)];
  const devnet = new ChildProgram(args);
  closers.push(() => devnet.end("SIGKILL"));
  const { url } = await devnet.ready();
  return { chain: new DevnetClient(url), url };
}

/** The private keys of the two waivers of genesis, and of two more. */
function keysOf(seed: number): Uint8Array[] {
  const genesisKeys = accountsOf("waiver").map(({ privateKey }) => hexToBytes(privateKey));
  const addedKeys = [1, 2].map((i) => crypto.keccak256(new TextEncoder().encode(`waiver ${seed} ${i}`)));
  return [...genesisKeys, ...addedKeys];
}

const HEAD_INTERVAL_MS = 60;

function followHead(chain: DevnetClient) {
  let number = 0;
  let closed = false;
  const loop = async () => {
    while (!closed) {
      number = await chain.head().catch(() => number);
      await new Promise((resolve) => setTimeout(resolve, HEAD_INTERVAL_MS));
    }
  };
  const running = loop();
  return {
    get number() {
      return number;
    },
    close() {
      closed = true;
      return running;
    },
  };
}
