import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accountsOf, TEST_TOKEN_ADDRESS } from "@gas-waiver/devnet";
import { bytesToHex, crypto, type Hex, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { type LaneAdmin, openKeyAdmin, openLaneAdmin } from "@gas-waiver/server";
import { openPool } from "../../packages/server/src/store/database.js";
import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { CAPS } from "./caps.js";
import { Chain } from "./chain.js";
import { Process } from "./process.js";
import { Replica } from "./replica.js";
import { TcpGate } from "./tcpGate.js";

export type PoolKind = "strict" | "queued";

const FIXED_KEY = "gw_chaos_first_aaaaaaaa";

const SELECTORS = ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"];
const BLOCK_TIME_MS = 150;

/** Everything that a run needs, as processes: a chain, a database, and replicas of the service. */
export interface World {
  readonly pool: PoolKind;
  readonly chain: Chain;
  readonly postgres: TestPostgres;
  readonly replicas: readonly Replica[];
  readonly lanes: LaneAdmin;
  /** The registered waivers whose keys some replica may have. */
  readonly waiverKeys: readonly Uint8Array[];
  readonly waivers: readonly Hex[];
  /** One of the replicas' configuration, and one of the store with daily caps. */
  readonly apiKeys: readonly [string, string];
  readonly cappedKeyId: string;
  /** The chain's head a moment ago. */
  readonly head: number;
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openWorld({
  pool,
  replicas: count,
  seed,
}: {
  readonly pool: PoolKind;
  readonly replicas: number;
  readonly seed: number;
}): Promise<World> {
  const owned: (() => unknown)[] = [];
  const close = async () => {
    for (const end of owned.splice(0).reverse()) await end();
  };
  try {
    const folder = mkdtempSync(join(tmpdir(), "gas-waiver-chaos-"));
    owned.push(() => rmSync(folder, { recursive: true, force: true }));
    const postgres = await new TestPostgres().start();
    owned.push(() => postgres.end());
    const databaseUrl = await postgres.createDatabase();
    const { chain, url } = await startDevnet(pool, owned);
    const waiverKeys = keysOf(seed);
    const waivers = waiverKeys.map((key) => bytesToHex(privateKeyToAddress(key)));
    for (const waiver of waivers.slice(2)) await chain.call("devnet_registerWaiver", { waiver });
    const policyFile = join(folder, "policy.json");
    writeFileSync(policyFile, JSON.stringify([{ address: TEST_TOKEN_ADDRESS, selectors: SELECTORS }]));
    const place = { folder, databaseUrl, policyFile, apiKeys: [FIXED_KEY] };
    const replicas: Replica[] = [];
    for (let i = 0; i < count; i++) {
      const gate = await TcpGate.before(url);
      owned.push(() => gate.close());
      // The first one has to find out by the node's refusals what the others hear from the registry.
      const policySource = i === 0 ? "config" : "both";
      const replica = new Replica(`replica ${i + 1}`, gate, { ...place, policySource }, waiverKeys);
      owned.push(() => replica.kill());
      replicas.push(replica);
    }
    await Promise.all(replicas.map((replica) => replica.start()));
    const client = openPool({
      ...{ connectionString: databaseUrl, connectTimeoutMs: 3_000 },
      ...{ maxConnections: 2, answerTimeoutMs: 600_000 },
    });
    owned.push(() => client.end());
    const lanes = await openLaneAdmin({ databaseUrl });
    owned.push(() => lanes.close());
    const { key, record } = await cappedKey(databaseUrl, replicas);
    const head = followHead(chain);
    owned.push(() => head.close());
    return {
      ...{ pool, chain, postgres, replicas, lanes, waiverKeys, waivers, close },
      ...{ apiKeys: [FIXED_KEY, key], cappedKeyId: record.id },
      get head() {
        return head.number;
      },
      query: async <Row>(sql: string, parameters: readonly unknown[] = []) =>
        (await client.query<Row>(sql, parameters)).rows,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A key with caps, known to all. */
async function cappedKey(databaseUrl: string, replicas: readonly Replica[]) {
  const keys = await openKeyAdmin({ databaseUrl });
  const issued = await keys.create("chaos", { label: "with caps", caps: CAPS }).finally(() => keys.close());
  const headers = { authorization: `Bearer ${issued.key}` };
  for (const { url } of replicas) while ((await fetch(`${url}/v1/ready`, { headers })).status === 401);
  return issued;
}

async function startDevnet(pool: PoolKind, owned: (() => unknown)[]) {
  const args = ["devnet", "--port", "0", "--pool", pool, "--block-time", String(BLOCK_TIME_MS)];
  const devnet = new Process(args);
  owned.push(() => devnet.kill());
  const url = await devnet.ready();
  if (url === undefined) throw new Error(`the devnet does not start: ${devnet.output}`);
  return { chain: new Chain(url), url };
}

/** The two waivers of genesis, and two more. */
function keysOf(seed: number): Uint8Array[] {
  const own = accountsOf("waiver").map(({ privateKey }) => hexToBytes(privateKey));
  const more = [1, 2].map((i) => crypto.keccak256(new TextEncoder().encode(`waiver ${seed} ${i}`)));
  return [...own, ...more];
}

const LOOK_MS = 60;

function followHead(chain: Chain) {
  let number = 0;
  let closed = false;
  const loop = async () => {
    while (!closed) {
      number = await chain.head().catch(() => number);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
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
