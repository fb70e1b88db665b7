// Several nodes of one chain: one that goes away costs nothing, and what it may have taken is not repeated blindly.
import "../support/fastConfirmations.js";
import { afterEach, describe, expect, it } from "vitest";
import { ScriptedNode } from "../support/scriptedNode.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };
const batch = (count: number, from = 1) => Array.from({ length: count }, (_, i) => innerOf(from + i));

const spares: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(spares.splice(0).map((node) => node.close()));
});

/** A service on two nodes of one chain: the first is preferred. */
async function onTwoNodes(
  rpcTimeoutMs = 20_000,
): Promise<{ service: TestService; first: ScriptedNode; spare: ScriptedNode }> {
  const before = await services.start();
  const first = before.node;
  const spare = await ScriptedNode.start({ chain: first.chain });
  spares.push(spare);
  await before.server.close();
  const rpcUrl = [first.url, spare.url];
  const changes = { rpcUrl, rpcTimeoutMs, requestTimeoutMs: 20_000 };
  return { service: services.own(await before.again(changes)), first, spare };
}

describe("two nodes", () => {
  it("the second is left alone while the first is well", async () => {
    const { service, spare } = await onTwoNodes();
    await service.submit(batch(10), INCLUDED);
    expect(spare.sent).toEqual([]);
  });

  it("the second carries on when the first is away, and the first again when it is back", async () => {
    const { service, first, spare } = await onTwoNodes();
    await service.submit(batch(5), INCLUDED);
    await first.close();
    expect((await service.submit(batch(5, 10), INCLUDED)).map(outcomeOf)).toEqual(Array(5).fill("success"));
    expect(spare.sent).toHaveLength(5);
    await first.open();
    await spare.close();
    expect((await service.submit(batch(5, 20), INCLUDED)).map(outcomeOf)).toEqual(Array(5).fill("success"));
    expect(new Set(first.chain.executed).size).toBe(15);
    expect(first.chain.executed).toHaveLength(15);
  });

  it.each([
    ["took all of it and broke", { kind: "reset", carriedOut: true }],
    ["broke before it took any", { kind: "reset", carriedOut: false }],
    ["took all of it and said nothing", { kind: "silence", carriedOut: true }],
    ["answered only half of it", { kind: "partial", answered: 5 }],
    ["was rate limited", { kind: "answer", status: 429, body: "Too Many Requests" }],
  ] as const)(
    "a batch that the first %s, and then was gone: each runs once, by the same bytes",
    async (_, how) => {
      const { service, first, spare } = await onTwoNodes(200);
      first.script = ({ raws }) => {
        if (raws.length === 0) return undefined;
        // From now on nothing but bad answers comes from it.
        first.script = () => ({ kind: "answer", status: 503, body: "" });
        return how;
      };
      expect((await service.submit(batch(10), INCLUDED)).map(outcomeOf)).toEqual(Array(10).fill("success"));
      const { executed } = first.chain;
      expect([...executed].sort()).toEqual(batch(10).map(hashOf).sort());
      expect(new Set([...first.sent, ...spare.sent]).size).toBe(10);
      expect(first.chain.nonceOf(WAIVER)).toBe(10n);
    },
  );
});

describe("two services with the same key and different stores", () => {
  it("the one that loses its nonces twice stops its lane and says why; the other goes on", async () => {
    const first = await services.start({ requestTimeoutMs: 20_000 }, { automine: false });
    const { node } = first;
    const databaseUrl = await services.postgres.createDatabase();
    const second = services.own(await first.elsewhere(databaseUrl, { requestTimeoutMs: 500 }));
    for (const user of [1, 2]) {
      const mine = first.submit([innerOf(user)], INCLUDED);
      await node.until(({ chain }) => chain.waiting.length === 1);
      // Its wrapper has the same nonce: the pool has one already.
      await second.post(JSON.stringify({ transactions: [innerOf(100 + user)] }));
      await second.until("select from submissions where state = 'signed'");
      node.mine();
      expect((await mine).map(outcomeOf)).toEqual(["success"]);
      await second.until(`select from lanes where foreign_uses = ${user}`);
      // What lost its nonce went out again under the next.
      if (user === 1) await second.until("select from submissions where state = 'broadcast'");
      node.mine();
    }
    const [lane] = await second.until<{ reason: string }>("select reason from lanes where state = 'stopped'");
    expect(lane?.reason).toContain("something else sends with this waiver's key");
    node.automine = true;
    expect((await first.submit([innerOf(3)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(new Set(node.chain.executed).size).toBe(node.chain.executed.length);
    expect(await first.query("select from lanes where state = 'open' and foreign_uses = 0")).toHaveLength(1);
  });
});
