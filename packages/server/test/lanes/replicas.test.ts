// Several replicas on one database: any of them accepts a submission, the owner of a lane executes it, and the replica
// that accepted it sends the result.
import { afterEach, describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred.js";
import { startServiceProcess } from "../support/serviceProcess.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { accountsOf, hashOf, innerOf, SECOND_KEY, SECOND_WAIVER } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };
/** Keeps the lane with its owner even on a machine that is busy for some seconds. */
const LONG_LEASE = { leaseMs: 20_000 };
afterEach(() => {
  vi.useRealTimers();
});

interface LeaseRow {
  readonly owner: string;
  readonly epoch: string;
}
const leaseOf = async (service: TestService) =>
  (await service.query<LeaseRow>("select owner, epoch from lanes"))[0] as LeaseRow;

/** Starts two replicas of which the first owns the lane, and the second takes it when it can. */
async function startTwoReplicas(changes = {}): Promise<[TestService, TestService]> {
  const first = await services.start(changes);
  await first.submit([innerOf(1)], INCLUDED);
  return [first, services.closeAfterTest(await first.startReplica())];
}

describe("a submission that one replica accepts and another executes", () => {
  it.each(["", "?wait=included"])(
    "gets its result by a notification, without polling (query %j)",
    async (query) => {
      const first = await services.start(LONG_LEASE);
      await first.submit([innerOf(1)], INCLUDED);
      // The second replica does not poll.
      vi.useFakeTimers({ toFake: ["setInterval"] });
      const second = services.closeAfterTest(await first.startReplica());
      const before = await leaseOf(first);
      const batch = Array.from({ length: 100 }, (_, i) => innerOf(2 + i));
      expect((await second.submit(batch, { query })).map(outcomeOf)).toEqual(Array(100).fill("success"));
      expect(await leaseOf(first)).toEqual(before);
    },
  );

  it("gets its failure by a notification too", async () => {
    const [first, second] = await startTwoReplicas();
    vi.useFakeTimers({ toFake: ["setInterval"] });
    first.node.chain.refused.set(hashOf(innerOf(2)), "TARGET_NOT_ALLOWED");
    expect((await second.submit([innerOf(2)])).map(outcomeOf)).toEqual([
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
    ]);
  });

  it("gets its result by polling the store where notifications are lost", async () => {
    const service = await services.start(LONG_LEASE);
    await service.server.close();
    const [{ name = "" } = {}] = await service.query<{ name: string }>("select current_database() as name");
    await service.query(
      `create function public.pg_notify(text, text) returns void language sql as 'select';
       alter database ${name} set search_path = public, pg_catalog`,
    );
    const first = services.closeAfterTest(await service.startReplica());
    await first.submit([innerOf(1)], INCLUDED);
    const second = services.closeAfterTest(await service.startReplica());
    const before = await leaseOf(first);
    const lines = await second.submit([innerOf(2), innerOf(3)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    expect(await leaseOf(first)).toEqual(before);
  });

  it("is the same submission when it is sent to both (D18)", async () => {
    const [first, second] = await startTwoReplicas();
    const [[ofFirst], [ofSecond]] = await Promise.all([
      first.submit([innerOf(2)]),
      second.submit([innerOf(2)]),
    ]);
    expect(ofFirst).toEqual(ofSecond);
    expect(first.node.chain.executed).toEqual([innerOf(1), innerOf(2)].map(hashOf));
  });

  it("is the same submission to a replica whose policy has come to forbid it, and another is refused there", async () => {
    const [first] = await startTwoReplicas();
    const forbidding = services.closeAfterTest(await first.startReplica({ allowedTargets: [] }));
    first.node.automine = false;
    const [accepted] = await first.submit([innerOf(2)]);
    const lines = await forbidding.submit([innerOf(2), innerOf(3)]);
    expect(lines[0]).toEqual(accepted);
    expect(lines.map(outcomeOf)).toEqual(["success", "VALIDATION_FAILED/TARGET_NOT_ALLOWED"]);
    first.node.mine();
    await first.until("select from finished where state = 'included' having count(*) = 2");
    expect(await forbidding.submit([innerOf(2)], INCLUDED)).toEqual([accepted]);
  });

  it("goes to the lane of a waiver whose account only the other replica has", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], INCLUDED);
    await service.server.close();
    // A replica reads the lane's state when it takes the lease.
    await service.query("update lanes set state = 'stopped'");
    const first = services.closeAfterTest(await service.startReplica());
    const second = services.closeAfterTest(await first.startReplica({ waivers: accountsOf(SECOND_KEY) }));
    await second.until("select from lanes having count(owner) = 2");
    const lines = await first.submit([innerOf(2), innerOf(3)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    expect(first.node.chain.nonceOf(SECOND_WAIVER)).toBe(2n);
  });
});

describe("an owner whose node is slow", () => {
  it("keeps its lane: the lease is renewed during a call", async () => {
    const [first, second] = await startTwoReplicas({ leaseMs: 6_000, rpcTimeoutMs: 20_000 });
    const before = await leaseOf(first);
    const nodeAnswer = deferred();
    first.node.holdSends(nodeAnswer.promise);
    const lines = second.submit([innerOf(2)], INCLUDED);
    await first.node.until(({ sent }) => sent.length === 2);
    const [{ due } = { due: "" }] = await first.query<{ due: string }>(
      // The lease is renewed after a third of its time, at the latest after a half. This is after the second renewal.
      "select (lease_until + interval '3.2 seconds')::text as due from lanes",
    );
    await first.until("select from lanes where lease_until > $1", [due]);
    expect(await leaseOf(first)).toEqual(before);
    first.node.script = undefined;
    nodeAnswer.resolve();
    expect((await lines).map(outcomeOf)).toEqual(["success"]);
    expect(first.node.sent).toHaveLength(2);
  });
});

describe("an owner that stalls", () => {
  it("is replaced within 5 s; when it comes back it changes nothing, and its clients get the new owner's results", async () => {
    const service = await services.start();
    await service.server.close();
    const { node, databaseUrl } = service;
    const stalled = await startServiceProcess(databaseUrl, node.url, { leaseMs: 1_500 });
    const post = (user: number) => stalled.post([innerOf(user)], INCLUDED);
    try {
      const nodeAnswer = deferred();
      node.once({ kind: "later", after: nodeAnswer.promise });
      const first = post(1);
      await node.until(({ sent }) => sent.length === 1);
      const before = await leaseOf(service);
      stalled.signal("SIGSTOP");
      const stalledAt = performance.now();
      // The longest lease, so that the lane does not change its owner again in this test.
      const next = services.closeAfterTest(await service.startReplica({ leaseMs: 4_000 }));
      expect((await next.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
      expect(performance.now() - stalledAt).toBeLessThan(5_000);
      expect(Number((await leaseOf(service)).epoch)).toBe(Number(before.epoch) + 1);
      const rows = await service.rows();
      nodeAnswer.resolve();
      stalled.signal("SIGCONT");
      expect(await first).toContain('"success":true');
      expect(await post(3)).toContain('"success":true');
      expect((await service.rows()).slice(0, 2)).toEqual(rows);
      expect(Number((await leaseOf(service)).epoch)).toBe(Number(before.epoch) + 1);
      expect(node.chain.executed).toEqual([1, 2, 3].map((user) => hashOf(innerOf(user))));
    } finally {
      await stalled.kill();
    }
  });
});

describe("an owner that is closed", () => {
  it("releases its lane at once, however long the lease", async () => {
    const [first, second] = await startTwoReplicas({ leaseMs: 600_000 });
    const before = await leaseOf(first);
    await first.server.close();
    expect((await second.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
    expect(await leaseOf(second)).not.toEqual(before);
  });
});
