// A wrapper that a node takes and no block includes. Any user can make one: an account with code (EIP-3607).
import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import { untilOwned } from "../support/laneStates.js";
import { REGISTRY, targets, withRegistry } from "../support/policies.js";
import { GOOD_HEADERS, outcomeOf, type TestService, testServices } from "../support/testService.js";
import {
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  TRANSFER,
  userAddress,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };
const BAD = 1;
const OTHERS = Array.from({ length: 10 }, (_, i) => 2 + i);
/** The most blocks that a bad wrapper may cost the others (L1), and the one in which they would have been. */
const MOST_BLOCKS = 11;
const BLOCK_MS = 700;
/** The blocks of ten seconds. */
const BLOCKS_UNTIL_NAMED = Math.floor(10_000 / BLOCK_MS);
const AT_LAST = { timeout: 200_000 };

let mining = false;
afterEach(() => {
  mining = false;
});

/** Mines blocks at the pace of a fast chain until the test ends, each after the service has seen the one before. */
async function mineOn({ node }: TestService): Promise<void> {
  mining = true;
  while (mining) {
    const seen = node.nextCall("eth_getTransactionCount");
    await sleep(BLOCK_MS);
    await seen;
    node.mine();
  }
}

interface PoolOptions {
  readonly keepsLeftOut?: boolean;
  readonly replaces?: boolean;
}

/** Starts a service whose chain takes the wrappers of one user, and includes none. */
async function startWithBadUser(
  { keepsLeftOut = false, replaces = false }: PoolOptions,
  keys = [WAIVER_KEY],
): Promise<TestService> {
  const waivers = accountsOf(...keys);
  const nodeOptions = { automine: false, pool: "queued" as const };
  const service = await services.start({ waivers, leaseMs: 1_000 }, nodeOptions);
  const { chain } = service.node;
  Object.assign(chain, { keepsLeftOut, replaces });
  chain.leftOut.add(userAddress(BAD));
  await untilOwned(service, keys.length > 1 ? [WAIVER, SECOND_WAIVER] : [WAIVER]);
  return service;
}

/** Submits the bad wrapper first, and then the others', behind it. @returns the heights at which the others were in blocks. */
async function submitBehindBad(service: TestService): Promise<number[]> {
  const { chain } = service.node;
  await service.submit([innerOf(BAD)]);
  void mineOn(service);
  const from = chain.height;
  return await Promise.all(
    OTHERS.map(async (user) => {
      expect((await service.submit([innerOf(user)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
      return chain.height - from;
    }),
  );
}

describe("a wrapper that a node takes and no block includes", () => {
  it.each([
    ["drops it", { keepsLeftOut: false }],
    ["lets another replace it", { keepsLeftOut: true, replaces: true }],
  ])("costs others some blocks where the pool %s", async (_, pool) => {
    const service = await startWithBadUser(pool);
    const blocks = await submitBehindBad(service);
    expect(Math.max(...blocks)).toBeLessThanOrEqual(MOST_BLOCKS);
    expect([...service.node.chain.executed].sort()).toEqual(
      OTHERS.map((user) => hashOf(innerOf(user))).sort(),
    );
  });

  it.each([
    ["0", { gasLimit: "0x0", gasUsed: "0x0" }],
    ["lower than what blocks use", { gasLimit: "0x1c9c380", gasUsed: "0x2735b40" }],
  ])("costs no more where the chain tells a block's gas limit as %s", async (_, gas) => {
    const service = await startWithBadUser({});
    const { answers } = service.node;
    answers.eth_getBlockByNumber = (_params, answer) => ({ ...(answer() as object), ...gas });
    expect(Math.max(...(await submitBehindBad(service)))).toBeLessThanOrEqual(MOST_BLOCKS);
  });

  it("sends others to lanes of other keys where the pool keeps it and refuses a second", async () => {
    const service = await startWithBadUser({ keepsLeftOut: true }, [WAIVER_KEY, SECOND_KEY]);
    const blocks = await submitBehindBad(service);
    expect(Math.max(...blocks)).toBeLessThanOrEqual(MOST_BLOCKS);
    expect([...service.node.chain.executed].sort()).toEqual(
      OTHERS.map((user) => hashOf(innerOf(user))).sort(),
    );
    // Later ones have no trouble at all.
    const lines = await service.submit(
      OTHERS.map((user) => innerOf(user, 1)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(OTHERS.map(() => "success"));
  });

  it("is named everywhere within the blocks of ten seconds where there is one key, and nothing behind it says success", async () => {
    const service = await startWithBadUser({ keepsLeftOut: true });
    await service.submit([innerOf(BAD)]);
    void mineOn(service);
    // The first of the others goes out before anybody can know.
    const [early = 0, ...late] = OTHERS;
    const told = service.submit([innerOf(early)]);
    await service.until("select from lanes where waits_cause in ('head', 'jam')");
    const waiting = service.submit(
      late.map((user) => innerOf(user)),
      { query: "?wait=included" },
    );
    await service.until("select from lanes where waits_cause = 'jam'");
    const from = service.node.chain.height;
    const name = /nonce 0 is held by a wrapper that \d+ blocks left out/;
    const ready = async () =>
      JSON.parse((await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS)).text);
    await expect.poll(ready, AT_LAST).toMatchObject({
      ready: false,
      parts: { waivers: { message: expect.stringMatching(name) } },
    });
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/gas_waiver_lane_waits_seconds\{waiver="0x[0-9a-f]+",cause="jam"[^}]*\} (?!0\n)/);
    await told;
    const broadcast = await service.query(
      "select sender from submissions where state in ('broadcast', 'included') and sender <> all($1)",
      [[BAD, early].map((user) => Buffer.from(userAddress(user).slice(2), "hex"))],
    );
    expect(broadcast).toEqual([]);
    const [last] = await service.query<{ id: string }>("select id from submissions order by id desc limit 1");
    const record = async () =>
      JSON.parse((await service.call("GET", `/v1/submissions/${last?.id}`, undefined, GOOD_HEADERS)).text);
    await expect.poll(record, AT_LAST).toMatchObject({ waitsFor: expect.stringMatching(name) });
    expect(service.node.chain.height - from).toBeLessThanOrEqual(BLOCKS_UNTIL_NAMED);
    await payFor(service);
    expect((await waiting).map(outcomeOf)).toEqual(late.map(() => "success"));
    expect(await service.query("select foreign_uses from lanes")).toEqual([{ foreign_uses: 0 }]);
  });
});

describe("senders who use the nonces of their wrappers otherwise", () => {
  it("cost others a few blocks, however often they do", async () => {
    const service = await startWithBadUser({ keepsLeftOut: true, replaces: true });
    const { chain } = service.node;
    const racers = [101, 102, 103, 104];
    const rounds = 5;
    void mineOn(service);
    const blocks: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const user of racers)
        service.submit([innerOf(user, chain.nonceOf(userAddress(user)))]).catch(() => {});
      // Struck senders have no turn at once.
      await sleep(500);
      for (const user of racers) chain.setNonce(userAddress(user), chain.nonceOf(userAddress(user)) + 1n);
      const from = chain.height;
      const lines = await service.submit([innerOf(2, round)], INCLUDED);
      expect(lines.map(outcomeOf)).toEqual(["success"]);
      blocks.push(chain.height - from);
    }
    expect(Math.max(...blocks)).toBeLessThanOrEqual(MOST_BLOCKS);
    // Those that were seen once hold nobody up again.
    expect(Math.max(...blocks.slice(1))).toBeLessThanOrEqual(4);
  });
});

/** An operator frees the nonce, and the pool forgets its trouble with the bad user. */
async function payFor({ node, databaseUrl }: TestService): Promise<void> {
  node.chain.balances.set(WAIVER, 10n ** 18n);
  const admin = await openLaneAdmin({ databaseUrl });
  const [account] = accountsOf(WAIVER_KEY);
  if (account === undefined) throw new Error("the waiver has no account");
  await expect(admin.cancelNonce(account, [node.url], { gasPrice: 1n, nonce: 5n })).rejects.toThrow(
    "the waiver's next nonce is 0, not 5",
  );
  expect((await admin.cancelNonce(account, [node.url], { gasPrice: 2_000_000_000n })).nonce).toBe(0n);
  await admin.close();
}

describe("a waiver that is revoked", () => {
  it("keeps its wrappers where no other waiver may carry them, says so, and each of them lands when it is registered again", async () => {
    const service = await services.start(
      { ...REGISTRY, waivers: accountsOf(WAIVER_KEY), leaseMs: 1_000 },
      { automine: false, prepare: withRegistry(targets(TRANSFER)) },
    );
    await untilOwned(service, [WAIVER]);
    const lines = service.submit(
      OTHERS.map((user) => innerOf(user)),
      INCLUDED,
    );
    await service.until("select from submissions where state = 'broadcast' having count(*) = 10");
    const { chain } = service.node;
    chain.revoked.add(WAIVER);
    chain.registry?.change(chain.height + 1, WAIVER, undefined);
    void mineOn(service);
    await service.until("select from lanes where waits_cause = 'policy'");
    expect(await service.query("select from submissions where state in ('included', 'failed')")).toEqual([]);
    const registeredAt = chain.height;
    chain.revoked.delete(WAIVER);
    chain.registry?.change(chain.height + 1, WAIVER, targets(TRANSFER));
    expect((await lines).map(outcomeOf)).toEqual(Array(10).fill("success"));
    expect([...chain.executed].sort()).toEqual(OTHERS.map((user) => hashOf(innerOf(user))).sort());
    // Blocks left them out, and none of their senders is at fault.
    expect(chain.height - registeredAt).toBeLessThanOrEqual(MOST_BLOCKS);
  });

  it("has its wrappers in flight released by the registry's proof: without a command, another lane carries each, and each runs once", async () => {
    const service = await services.start(
      {
        ...REGISTRY,
        waivers: accountsOf(WAIVER_KEY, SECOND_KEY),
        leaseMs: 1_000,
      },
      {
        automine: false,
        prepare(node) {
          withRegistry(targets(TRANSFER))(node);
          node.chain.setPolicy(SECOND_WAIVER, targets(TRANSFER));
        },
      },
    );
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    const lines = service.submit(
      OTHERS.map((user) => innerOf(user)),
      INCLUDED,
    );
    await service.until("select from submissions where state = 'broadcast' having count(*) = 10");
    const [{ waiver } = {}] = await service.query<{ waiver: Buffer }>(
      "select waiver from submissions group by waiver order by count(*) desc",
    );
    const revoked = bytesToHex(waiver ?? new Uint8Array());
    const { chain } = service.node;
    chain.revoked.add(revoked);
    chain.registry?.change(chain.height + 1, revoked, undefined);
    void mineOn(service);
    expect((await lines).map(outcomeOf)).toEqual(Array(10).fill("success"));
    expect(chain.nonceOf(revoked)).toBe(0n);
    expect([...chain.executed].sort()).toEqual(OTHERS.map((user) => hashOf(innerOf(user))).sort());
  });
});
