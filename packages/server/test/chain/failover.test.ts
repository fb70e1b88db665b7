// Several nodes of one chain: the service uses the next node when one fails, and never gives a wrapper another nonce.
import { afterEach, describe, expect, it } from "vitest";
import { ScriptedNode } from "../support/scriptedNode.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };
const batch = (count: number, from = 1) => Array.from({ length: count }, (_, i) => innerOf(from + i));

const spares: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(spares.splice(0).map((node) => node.close()));
});

/** Starts a service with two nodes of one chain, the first of which it prefers. */
async function onTwoNodes(
  rpcTimeoutMs = 20_000,
): Promise<{ service: TestService; first: ScriptedNode; spare: ScriptedNode }> {
  const before = await services.start();
  const first = before.node;
  const spare = await ScriptedNode.start({ chain: first.chain });
  spares.push(spare);
  await before.server.close();
  const rpcUrl = [first.url, spare.url];
  const changes = { rpcUrl, rpcTimeoutMs };
  return { service: services.closeAfterTest(await before.startReplica(changes)), first, spare };
}

describe("two nodes", () => {
  it("are used in order: the second gets no transactions while the first answers", async () => {
    const { service, spare } = await onTwoNodes();
    await service.submit(batch(10), INCLUDED);
    expect(spare.sent).toEqual([]);
  });

  it("replace each other: the second while the first is down, and the first when it is back", async () => {
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
    ["took all of it and did not answer", { kind: "silence", carriedOut: true }],
    ["answered only half of it", { kind: "partial", answered: 5 }],
    ["was rate limited", { kind: "answer", status: 429, body: "Too Many Requests" }],
  ] as const)(
    "execute each transaction of a batch once, with the same bytes, if the first %s and then failed",
    async (_, misbehaviour) => {
      const { service, first, spare } = await onTwoNodes(200);
      first.script = ({ raws }) => {
        if (raws.length === 0) return undefined;
        // From now on the first node answers every request with 503.
        first.script = () => ({ kind: "answer", status: 503, body: "" });
        return misbehaviour;
      };
      expect((await service.submit(batch(10), INCLUDED)).map(outcomeOf)).toEqual(Array(10).fill("success"));
      const { executed } = first.chain;
      expect([...executed].sort()).toEqual(batch(10).map(hashOf).sort());
      expect(new Set([...first.sent, ...spare.sent]).size).toBe(10);
      expect(first.chain.nonceOf(WAIVER)).toBe(10n);
    },
  );
});
