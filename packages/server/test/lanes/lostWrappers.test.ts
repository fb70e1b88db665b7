// A failover lost the last commits: the chain has wrappers of this service that its store does not know.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ScriptedNode } from "../support/scriptedNode.js";
import { TestPostgres } from "../support/testPostgres.js";
import { outcomeOf, TestService } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

let postgres: TestPostgres;
let node: ScriptedNode;
let service: TestService;
beforeEach(async () => {
  postgres = await new TestPostgres().start();
  node = await ScriptedNode.start();
  const databaseUrl = await postgres.createDatabase();
  service = await TestService.start({
    node,
    databaseUrl,
    changes: {},
    patience: { speed: 10 },
  });
  await postgres.addStandby("asynchronous");
});
afterEach(async () => {
  await service.server.close();
  await node.close();
  await postgres.end();
});

const INCLUDED = { query: "?wait=included" };
const body = (user: number) => JSON.stringify({ transactions: [innerOf(user)] });

/** Submits until the store works again after the failover. */
async function submitAfterFailover(user: number): Promise<string> {
  for (;;) {
    const { status, text } = await service.post(body(user), INCLUDED);
    if (status !== 503) return text;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function expectBlamelessLane(): Promise<void> {
  expect(await service.query("select state, foreign_uses from lanes")).toEqual([
    { state: "open", foreign_uses: 0 },
  ]);
  expect(new Set(node.chain.executed).size).toBe(node.chain.executed.length);
}

describe("a store that lost submissions whose result lines had been sent", () => {
  it("gets the executed submissions back from the chain, and answers the same InnerTx with the same hash", async () => {
    postgres.stallReplication();
    const lines = await service.submit([innerOf(1), innerOf(2)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    await postgres.failOver();
    // Those that were found on the chain already have no API key.
    expect(await service.query("select from submissions where key_id <> ''")).toEqual([]);
    await service.until("select from submissions having count(*) filter (where state = 'included') = 2");
    const again = await service.submit([innerOf(1), innerOf(2), innerOf(3)], INCLUDED);
    expect(again.map(outcomeOf)).toEqual(Array(3).fill("success"));
    expect(again.map((line) => line.success && line.txHash)).toEqual(
      [1, 2, 3].map((user) => hashOf(innerOf(user))),
    );
    await expectBlamelessLane();
  });

  it("gives the nonce of a lost wrapper in the pool to another wrapper, and counts no foreign use when the lost one lands", async () => {
    node.automine = false;
    postgres.stallReplication();
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    await postgres.failOver();
    const sent = node.sent.length;
    const second = submitAfterFailover(2);
    await node.until((now) => now.sent.length > sent);
    // The pool still has the lost wrapper under this nonce.
    node.automine = true;
    node.mine();
    expect(await second).toContain('"success":true');
    await service.until("select from submissions having count(*) filter (where state = 'included') = 2");
    expect((await service.submit([innerOf(1)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(node.chain.executed).toEqual([1, 2].map((user) => hashOf(innerOf(user))));
    await expectBlamelessLane();
  });
});
