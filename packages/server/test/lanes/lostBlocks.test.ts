// A chain without blocks that were final: it was restored from a backup, or the service was given the wrong node.
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin.js";
import { GOOD_HEADERS, outcomeOf, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices({ patience: { speed: 30 } });
const INCLUDED = { query: "?wait=included" };
const STOPPED = "select reason from lanes where state = 'stopped'";

describe("a chain that has lost final blocks", () => {
  it("stops the lane with the reason and fails no submission; once opened, the lane goes on from the chain's nonce", async () => {
    const service = await services.start({ leaseMs: 300, requestTimeoutMs: 20_000 });
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

  it("does not stop the lane if only a lagging node reports it", async () => {
    const service = await services.start({ leaseMs: 300 });
    const { chain } = service.node;
    chain.now = () => Date.now() - 3_600_000;
    for (const user of [1, 2]) await service.submit([innerOf(user)], INCLUDED);
    // The node's head is below the last final block, and an hour old.
    chain.reorg(1);
    for (let i = 0; i < 30; i++) await service.node.nextCall("eth_getTransactionCount");
    expect(await service.query(STOPPED)).toEqual([]);
  });
});
