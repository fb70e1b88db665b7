// The cost of a replica without work, with one lane and one node, and with two hundred lanes and two nodes.
import { describe, expect, it, onTestFinished } from "vitest";
import { ScriptedNode } from "../support/scriptedNode.js";
import { TestService, testServices } from "../support/testService.js";
import { accountsOf, innerOf, userKey } from "../support/user.js";

const services = testServices();
/** The intervals of a service in production, which other tests shorten. */
const INTERVALS = { pollIntervalMs: 200, leaseMs: 3_000, resendAfterMs: 5_000 };
const WINDOW_MS = 3_000;
const BLOCK_MS = 1_000;
/**
 * The windows in which a replica comes to rest. A session reports its transactions a second late, or ten if it is idle then. On
 * a busy machine, answers are late, so that heads of nodes grow old and connections are replaced: both cost more for a while.
 */
const MAX_WINDOWS = 40;

async function counts(service: TestService) {
  const [row] = await service.query<{ count: string }>(
    "select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()",
  );
  return { transactions: Number(row?.count), requests: service.node.requests.all, at: performance.now() };
}

/** A second's transactions of the database, and requests to the nodes. */
interface Cost {
  readonly transactions: number;
  readonly requests: number;
}

/** Counts the transactions of the database and the requests to the node in a second, in one window after the other. */
async function* costs(service: TestService): AsyncGenerator<Cost> {
  let before = await counts(service);
  for (let window = 0; window < MAX_WINDOWS; window++) {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    const after = await counts(service);
    const perSecond = (count: number) => (1_000 * count) / (after.at - before.at);
    yield {
      transactions: perSecond(after.transactions - before.transactions),
      requests: perSecond(after.requests - before.requests),
    };
    before = after;
  }
}

interface Size {
  readonly lanes: number;
  readonly nodes: number;
}

/** Starts a service whose lanes are owned, and which has done some work and has final blocks to compare. */
async function startWith({ lanes, nodes }: Size): Promise<TestService> {
  const waivers = accountsOf(...Array.from({ length: lanes }, (_, i) => userKey(0x7000 + i)));
  // One server counts the requests to all nodes.
  const node = await ScriptedNode.start();
  onTestFinished(() => node.close());
  const rpcUrl = Array.from({ length: nodes }, (_, i) => `${node.url}/${i}`);
  const databaseUrl = await services.databases.createDatabase();
  const changes = { ...INTERVALS, waivers, rpcUrl };
  const service = services.closeAfterTest(await TestService.start({ node, databaseUrl, changes }));
  await service.until("select from lanes having bool_and(owner is not null)");
  await service.submit(
    [1, 2, 3].map((user) => innerOf(user)),
    { query: "?wait=included" },
  );
  return service;
}

describe("a replica without work", () => {
  it("makes at most 10 transactions and 4 requests to its nodes a second, with 1 lane and with 200, while blocks come", async () => {
    const few = { lanes: 1, nodes: 1 };
    const many = { lanes: 200, nodes: 2 };
    const replicas = await Promise.all([few, many].map(startWith));
    const blocks = setInterval(() => {
      for (const { node } of replicas) node.mine();
    }, BLOCK_MS);
    onTestFinished(() => clearInterval(blocks));
    // The costs of each window, up to the first one at rest.
    const costsUntilRest = async (service: TestService) => {
      const windows: Cost[] = [];
      for await (const cost of costs(service)) {
        windows.push(cost);
        if (cost.transactions <= 10 && cost.requests <= 4) break;
      }
      return windows;
    };
    for (const windows of await Promise.all(replicas.map(costsUntilRest))) {
      const last = windows.at(-1);
      expect(last?.transactions, JSON.stringify(windows)).toBeLessThanOrEqual(10);
      expect(last?.requests, JSON.stringify(windows)).toBeLessThanOrEqual(4);
    }
    // It takes work as before.
    const [line] = (await replicas[1]?.submit([innerOf(4)], { query: "?wait=included" })) ?? [];
    expect(line).toMatchObject({ success: true });
  });
});
