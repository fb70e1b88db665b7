// How a lane follows blocks: wrappers that blocks leave out, reorgs, and final blocks.
import { describe, expect, it } from "vitest";
import type { TestService } from "../support/testService.js";
import { outcomeOf, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };
const batch = [1, 2, 3].map((user) => innerOf(user));

/** Resolves when all submissions are in this state. */
const untilAll = (service: TestService, state: string, condition = "true") =>
  service.until(`select from submissions having bool_and(state = '${state}' and ${condition})`);

/** Resolves when the lane has compared what is in flight with the chain once more. Each time it asks for nonces once or twice. */
async function pollAgain(service: TestService): Promise<void> {
  for (let i = 0; i < 4; i++) await service.node.nextCall("eth_getTransactionCount");
}

/** The same for a lane with nothing but blocks that are not final. One call may be that of the watch of the nodes. */
async function checkBlocksAgain(service: TestService): Promise<void> {
  for (let i = 0; i < 3; i++) await service.node.nextCall("eth_getBlockByNumber");
}

describe("a pool that evicts wrappers", () => {
  it("gets the same bytes again after two blocks without them, and not before", async () => {
    const service = await services.start({ resendAfterMs: 600_000 }, { automine: false });
    await service.submit(batch);
    await pollAgain(service);
    service.node.chain.clearPool();
    service.node.mine();
    await pollAgain(service);
    expect(service.node.sent).toHaveLength(3);
    service.node.mine();
    await service.node.until(({ chain }) => chain.pending.length === 3);
    expect(service.node.sent.slice(3)).toEqual(service.node.sent.slice(0, 3));
    service.node.mine();
    await untilAll(service, "included");
    expect(service.node.chain.executed).toEqual(batch.map(hashOf));
  });

  it("loses no wrapper and executes none twice, however often it evicts", async () => {
    const service = await services.start({ resendAfterMs: 600_000 }, { automine: false });
    const { node } = service;
    for (let evictions = 0; evictions < 3; evictions++) {
      const users = [1, 2, 3].map((user) => innerOf(user, evictions));
      const lines = service.submit(users, INCLUDED);
      await node.until(({ chain }) => chain.pending.length === 3);
      await pollAgain(service);
      node.chain.clearPool();
      // The wrapper with the next nonce waits for more blocks than usual, and not for so many that it is withdrawn.
      for (let blocks = 0; blocks < 2 || node.chain.pending.length === 0; blocks++) {
        node.mine();
        await pollAgain(service);
      }
      await node.until(({ chain }) => chain.pending.length === 3);
      node.mine();
      expect((await lines).map(outcomeOf)).toEqual(Array(3).fill("success"));
      expect(node.chain.executed.slice(-3)).toEqual(users.map(hashOf));
    }
    expect(new Set(node.sent).size).toBe(9);
  });
});

describe("new blocks over WebSocket", () => {
  it("are handled at once, long before the next poll", async () => {
    const service = await services.start({}, { automine: false });
    const follower = services.closeAfterTest(
      await service.startReplica({ rpcWsUrl: service.node.wsUrl, pollIntervalMs: 600_000 }),
    );
    await service.server.close();
    await service.node.until(({ heads }) => heads.subscribers === 1);
    const lines = follower.submit(batch, INCLUDED);
    await follower.until("select from submissions having count(*) filter (where state = 'broadcast') = 3");
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(Array(3).fill("success"));
  });
});

describe("a reorg", () => {
  const DEEP = { reorgDepth: 3, resendAfterMs: 600_000 };

  it("takes included submissions back to broadcast; the same bytes land again, and become final at their depth", async () => {
    const service = await services.start(DEEP, { automine: false });
    await service.submit(batch);
    service.node.mine();
    await untilAll(service, "included", "finished_at is null");
    service.node.chain.reorg(1);
    service.node.mine();
    await service.node.until(({ sent }) => sent.length === 6);
    expect(service.node.chain.executed).toEqual([]);
    expect(service.node.sent.slice(3)).toEqual(service.node.sent.slice(0, 3));
    service.node.mine();
    await untilAll(service, "included", "finished_at is null");
    service.node.mine();
    service.node.mine();
    await checkBlocksAgain(service);
    expect(await service.query("select from submissions where finished_at is not null")).toEqual([]);
    service.node.mine();
    await untilAll(service, "included", "finished_at is not null");
    expect(service.node.chain.executed).toEqual(batch.map(hashOf));
    expect(service.node.chain.nonceOf(WAIVER)).toBe(3n);
  });

  it("that puts the same transactions into another block updates their block", async () => {
    const service = await services.start(DEEP, { automine: false });
    const [line] = await service.submit([innerOf(1)]);
    service.node.mine();
    await untilAll(service, "included");
    const [before] = await service.query<{ block_hash: Buffer }>("select block_hash from submissions");
    service.node.chain.reorg(1);
    service.node.chain.addToPool(Buffer.from((service.node.sent[0] ?? "").slice(2), "hex"));
    service.node.mine();
    await service.until("select from submissions where state = 'included' and block_hash <> $1", [
      before?.block_hash,
    ]);
    expect(service.node.sent).toHaveLength(1);
    const [again] = await service.submit([innerOf(1)], INCLUDED);
    expect(again).toEqual({ index: 0, id: line?.id, success: true, txHash: hashOf(innerOf(1)) });
  });

  it("is not what receipts with the hash of another block show, as those of Nethermind did: the block that has the InnerTx counts", async () => {
    const service = await services.start(DEEP, { automine: false });
    const { node } = service;
    node.answers.eth_getTransactionReceipt = (_, answer) => {
      const receipt = answer() as object | null;
      return receipt && { ...receipt, blockHash: `0x${"00".repeat(32)}` };
    };
    await service.submit([innerOf(1)]);
    for (let blocks = 0; blocks < 4; blocks++) node.mine();
    await untilAll(service, "included", "finished_at is not null");
    const { hash } = node.chain.read("eth_getBlockByNumber", ["0x1", false]) as { hash: string };
    const rows = await service.query("select '0x' || encode(block_hash, 'hex') as hash from submissions");
    expect(rows).toEqual([{ hash }]);
  });

  it("does not affect later submissions, and each runs once", async () => {
    const service = await services.start(DEEP, { automine: false });
    await service.submit(batch);
    service.node.mine();
    await untilAll(service, "included");
    await service.submit([innerOf(4)]);
    service.node.mine();
    await untilAll(service, "included");
    service.node.chain.reorg(2);
    const lines = service.submit([innerOf(5)], INCLUDED);
    service.node.mine();
    service.node.mine();
    await service.node.until(({ chain }) => chain.pending.length === 5);
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(["success"]);
    await untilAll(service, "included");
    expect([...service.node.chain.executed].sort()).toEqual(
      [1, 2, 3, 4, 5].map((user) => hashOf(innerOf(user))).sort(),
    );
  });

  it("keeps a draining lane from retiring until its blocks are final", async () => {
    const service = await services.start({ ...DEEP, leaseMs: 300 }, { automine: false });
    await service.submit(batch);
    await service.query("update lanes set state = 'draining'");
    service.node.mine();
    await untilAll(service, "included", "finished_at is null");
    service.node.chain.reorg(1);
    service.node.mine();
    await service.node.until(({ sent }) => sent.length === 6);
    for (let blocks = 0; blocks < 3; blocks++) {
      service.node.mine();
      await checkBlocksAgain(service);
      expect(await service.query("select from lanes where state = 'retired'")).toEqual([]);
    }
    service.node.mine();
    await service.until("select from lanes where state = 'retired'");
    expect(service.node.chain.executed).toEqual(batch.map(hashOf));
  });

  it("cannot happen where blocks are final at once: an inclusion is final with its block", async () => {
    const service = await services.start();
    await service.submit(batch, INCLUDED);
    await untilAll(service, "included", "finished_at is not null");
  });
});
