// A chain without blocks that were final: it was restored from a backup, or the service was given the wrong node.
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { GOOD_HEADERS, outcomeOf, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices({ patience: { speed: 30 } });
const INCLUDED = { query: "?wait=included" };
const STOPPED = "select reason from lanes where state = 'stopped'";

describe("a chain that has lost final blocks", () => {
  it("stops the lane with the reason and fails no submission; once opened, the lane goes on from the chain's nonce", async () => {
    const service = await services.start({ leaseMs: 300 });
    for (const user of [1, 2, 3]) await service.submit([innerOf(user)], INCLUDED);
    service.node.automine = false;
    service.node.chain.reorg(2);
    for (let i = 0; i < 3; i++) service.node.mine();
    const [lane] = await service.until<{ reason: string }>(STOPPED);
    expect(lane?.reason).toContain("the waiver's next nonce is 1, and final block 3 had its nonce 2");
    const ready = JSON.parse((await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS)).text);
    expect(ready.parts.waivers).toMatchObject({ ok: false, message: expect.stringContaining("is stopped") });
    expect(await service.query("select from submissions where state = 'failed'")).toEqual([]);

    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    await admin.set(hexToBytes(WAIVER), "open");
    await admin.close();
    service.node.automine = true;
    expect((await service.submit([innerOf(4)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.chain.executed).toEqual([1, 4].map((user) => hashOf(innerOf(user))));
    expect(await service.query(STOPPED)).toEqual([]);
  });

  it("does not stop the lane while the chain ends below them, however new its head is", async () => {
    const service = await services.start({ leaseMs: 300 });
    for (const user of [1, 2]) await service.submit([innerOf(user)], INCLUDED);
    service.node.chain.reorg(1);
    for (let i = 0; i < 30; i++) await service.node.nextCall("eth_getTransactionCount");
    expect(await service.query(STOPPED)).toEqual([]);
  });
});

describe("a node on a fork that lacks final blocks", () => {
  it("does not stop the lane while another node has them, and is named", async () => {
    const before = await services.start({ leaseMs: 300 });
    const { node: forked } = before;
    const { chain } = forked;
    const whole = await ScriptedNode.start({ chain });
    onTestFinished(() => whole.close());
    await before.server.close();
    const rpcUrl = [forked.url, whole.url];
    const service = services.closeAfterTest(await before.startReplica({ rpcUrl }));
    for (const user of [1, 2, 3]) await service.submit([innerOf(user)], INCLUDED);
    const finalBlock = chain.read("eth_getBlockByNumber", ["0x3", false]);
    whole.answers.eth_getBlockByNumber = ([height], answer) => (height === "0x3" ? finalBlock : answer());
    chain.reorg(2);
    for (let i = 0; i < 3; i++) forked.mine();
    // Its line ends with the test.
    void service.submit([innerOf(4)]);
    await service.until(
      "select from lanes where waits_for like '%another node still has that block' or state = 'stopped'",
    );
    expect(await service.query(STOPPED)).toEqual([]);
    delete whole.answers.eth_getBlockByNumber;
    await service.until(STOPPED);
  });
});

describe("a node that answers from two blocks ago", () => {
  it("makes a sender's next transaction wait, which does not fail for nonces that final blocks have", async () => {
    const service = await services.start({ leaseMs: 300, nonceGapTimeoutMs: 100 });
    const { node } = service;
    for (const nonce of [0, 1]) await service.submit([innerOf(1, nonce)], INCLUDED);
    const methods = ["eth_blockNumber", "eth_getBlockByNumber", "eth_getTransactionCount"] as const;
    for (const method of [...methods, "eth_getTransactionReceipt"])
      node.answers[method] = (params) => node.chain.read(method, params, 2);
    const line = service.submit([innerOf(1, 2)], INCLUDED);
    for (let i = 0; i < 30; i++) await node.nextCall("eth_getTransactionCount");
    expect(await service.query("select from submissions where state = 'failed'")).toEqual([]);
    for (const method of Object.keys(node.answers)) delete node.answers[method];
    expect((await line).map(outcomeOf)).toEqual(["success"]);
    expect(await service.query(STOPPED)).toEqual([]);
  });
});
