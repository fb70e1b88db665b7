// Another program sends with a waiver's key: the lane counts the foreign uses of its nonces, and stops at the second one.
import {
  bytesToHex,
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hexToBytes,
  recoverSender,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import { untilOwned } from "../support/laneStates.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import {
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };

const foreignWrapper = (inner: Hex, nonce: bigint) =>
  signWrapperTxWithKey(decodeInnerTx(hexToBytes(inner)), WAIVER_KEY, { nonce, verificationGas: 50_000n }).raw;

/** Submits, and lets another program's transaction use the submission's waiver nonce in the next block. */
async function loseNonce(service: TestService, user: number): Promise<void> {
  const { node } = service;
  const before = node.sent.length;
  node.once({ kind: "silence", carriedOut: false });
  service.post(JSON.stringify({ transactions: [innerOf(user)] })).catch(() => {});
  await node.until(({ sent }) => sent.length > before);
  node.chain.addToPool(foreignWrapper(innerOf(1_000 + user), node.chain.nonceOf(WAIVER)));
  node.mine();
}

async function lane(service: TestService, waiver = WAIVER) {
  const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
  const lanes = await admin.list();
  await admin.close();
  return lanes.find((status) => Buffer.from(status.waiver).equals(hexToBytes(waiver)));
}

const laneWithForeignUses = (count: number) => `select from lanes where foreign_uses = ${count}`;

describe("a waiver's key that another program uses", () => {
  it("makes the submission run under another nonce the first time, and the lane goes on", async () => {
    const service = await services.start({ rpcTimeoutMs: 150 }, { automine: false });
    await loseNonce(service, 1);
    await service.until(laneWithForeignUses(1));
    service.node.automine = true;
    expect((await service.submit([innerOf(1), innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual([
      "success",
      "success",
    ]);
    expect(await lane(service)).toMatchObject({ state: "open", reason: undefined });
    expect([...service.node.chain.executed].sort()).toEqual(
      [1_001, 1, 2].map((user) => hashOf(innerOf(user))).sort(),
    );
  });

  it("is found where the node holds back its answers to missing receipts, as cosmos/evm does", async () => {
    const service = await services.start({ rpcTimeoutMs: 300 }, { automine: false });
    const { node } = service;
    await loseNonce(service, 1);
    const holdBack = { kind: "silence", carriedOut: false } as const;
    node.script = ({ methods }) => (methods.includes("eth_getTransactionReceipt") ? holdBack : undefined);
    await service.until(laneWithForeignUses(1));
    node.script = undefined;
    node.automine = true;
    expect((await service.submit([innerOf(1), innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual([
      "success",
      "success",
    ]);
  });

  it("stops the lane the second time, with the reason; after it is opened again, the count starts anew", async () => {
    // The lease is not renewed in this test, so the lane must know by itself that it has stopped.
    const changes = { rpcTimeoutMs: 150, requestTimeoutMs: 300, leaseMs: 600_000 };
    const service = await services.start(changes, { automine: false });
    await loseNonce(service, 1);
    await service.until(laneWithForeignUses(1));
    service.node.mine();
    await loseNonce(service, 2);
    await service.until("select from lanes where state = 'stopped'");
    expect(await lane(service)).toMatchObject({
      state: "stopped",
      reason: expect.stringContaining("something else sends with this waiver's key"),
    });
    service.node.automine = true;
    const executedBefore = service.node.chain.executed.length;
    expect((await service.submit([innerOf(3)])).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);
    expect(service.node.chain.executed).toHaveLength(executedBefore);
    await service.server.close();

    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    await admin.set(hexToBytes(WAIVER), "open");
    await admin.close();
    services.closeAfterTest(await service.startReplica());
    await service.until("select from submissions having bool_and(state = 'included')");
    expect(await service.query(laneWithForeignUses(0))).toHaveLength(1);
    expect(await lane(service)).toMatchObject({ state: "open", reason: undefined });
  });

  it.each(["replacement transaction underpriced", "invalid nonce; got 0, expected 1: invalid sequence"])(
    "has a wrapper in the pool for good, which the node calls %j: all work goes to the other lane",
    async (message) => {
      const waivers = accountsOf(WAIVER_KEY, SECOND_KEY);
      const service = await services.start({ waivers }, { pool: "queued" });
      const { node } = service;
      await untilOwned(service, [WAIVER, SECOND_WAIVER]);
      node.onSends({
        kind: "error",
        of: (raw) => {
          const wrapper = decodeTransaction(hexToBytes(raw));
          const isFirst = bytesToHex(recoverSender(wrapper)) === WAIVER && wrapper.nonce === 0n;
          return isFirst ? { code: -32_000, message } : undefined;
        },
      });
      const users = [1, 2, 3, 4, 5, 6];
      const lines = await Promise.all(users.map((user) => service.submit([innerOf(user)], INCLUDED)));
      expect(lines.flat().map(outcomeOf)).toEqual(users.map(() => "success"));
      const waiversOf = await service.query("select distinct encode(waiver, 'hex') as waiver from finished");
      expect(waiversOf).toEqual([{ waiver: SECOND_WAIVER.slice(2) }]);
    },
  );

  it("leaves the queued work to another lane", async () => {
    const changes = { rpcTimeoutMs: 150, leaseMs: 300 };
    const service = await services.start(changes, { automine: false });
    await loseNonce(service, 1);
    await service.until(laneWithForeignUses(1));
    service.node.mine();
    await loseNonce(service, 2);
    await service.until("select from lanes where state = 'stopped'");
    await service.server.setWaivers(accountsOf(WAIVER_KEY, SECOND_KEY));
    service.node.automine = true;
    const lines = await service.submit([innerOf(1), innerOf(2), innerOf(3)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(Array(3).fill("success"));
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBeGreaterThanOrEqual(2n);
  });
});

describe("two services with the same key and different stores", () => {
  it("stop the lane that loses its nonces twice, with the reason; the other goes on", async () => {
    const first = await services.start({}, { automine: false });
    const { node } = first;
    const databaseUrl = await services.databases.createDatabase();
    const second = services.closeAfterTest(
      await first.startOnOtherStore(databaseUrl, { requestTimeoutMs: 500 }),
    );
    for (const user of [1, 2]) {
      const lines = first.submit([innerOf(user)], INCLUDED);
      await node.until(({ chain }) => chain.pending.length === 1);
      // The wrapper of the second service has the same nonce, which the pool has already.
      await second.post(JSON.stringify({ transactions: [innerOf(100 + user)] }));
      await second.until("select from submissions where state = 'signed'");
      node.mine();
      expect((await lines).map(outcomeOf)).toEqual(["success"]);
      await second.until(`select from lanes where foreign_uses = ${user}`);
      // The submission that lost its nonce goes out again under the next one.
      if (user === 1) await second.until("select from submissions where state = 'broadcast'");
      node.mine();
    }
    const [lane] = await second.until<{ reason: string }>("select reason from lanes where state = 'stopped'");
    expect(lane?.reason).toContain("something else sends with this waiver's key");
    node.automine = true;
    expect((await first.submit([innerOf(3)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(new Set(node.chain.executed).size).toBe(node.chain.executed.length);
    // It has lost no nonce, and knows of the other's wrapper that has landed.
    await first.until("select from lanes where state = 'open' and foreign_uses = 1");
  });
});
