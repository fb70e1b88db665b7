// A store that is older than the chain, from a backup: the chain decides, and no executed submission fails.
import { describe, expect, it } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, userAddress } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };
const users = [1, 2, 3, 4];
const batch = users.map((user) => innerOf(user));

/** Executes a batch, closes the service, and sets the store back to the time when the batch was queued or signed. */
async function startRestored(state: "queued" | "signed"): Promise<TestService> {
  const service = await services.start();
  // A trigger keeps a copy of the rows that leave the table, as a backup would have them.
  await service.query(`
    create table backup (like unfinished);
    create function back_up() returns trigger language plpgsql as $$
      begin insert into backup select old.*; return old; end $$;
    create trigger back_up before delete on unfinished for each row execute function back_up()`);
  await service.submit(batch, INCLUDED);
  await service.server.close();
  const unsigned =
    "waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null, signings = 0,";
  await service.query(`
    drop trigger back_up on unfinished;
    update backup set ${state === "queued" ? unsigned : ""} state = '${state}', broadcast_at = null;
    delete from finished;
    insert into unfinished select * from backup`);
  return service;
}

const allIncluded = "select from submissions having bool_and(state = 'included')";

describe("a store restored from an old backup", () => {
  it.each(["queued", "signed"] as const)(
    "with executed submissions as %s: the sweep at the start reconciles them",
    async (state) => {
      const service = await startRestored(state);
      const sent = service.node.sent.length;
      const next = services.closeAfterTest(await service.startReplica());
      await next.until(allIncluded);
      expect((await next.submit(batch, INCLUDED)).map(outcomeOf)).toEqual(Array(4).fill("success"));
      expect((await next.submit([innerOf(9)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
      expect(service.node.chain.executed).toEqual([...batch, innerOf(9)].map(hashOf));
      expect(service.node.sent.slice(sent).length).toBeLessThanOrEqual(5);
      expect(await next.query("select from lanes where foreign_uses > 0")).toEqual([]);
    },
  );

  it("does not fail a submission that was executed, however long it has waited by the store's clock", async () => {
    const service = await startRestored("queued");
    await service.query("update unfinished set accepted_at = now() - interval '1 day'");
    // The node is away at the start, so the service cannot know yet.
    await service.node.close();
    const next = services.closeAfterTest(
      await service.startReplica({ maxQueueMs: 1_000, requestTimeoutMs: 3_000 }),
    );
    // By the end of this wait, both clocks have measured the longest time in the queue.
    const [waited] = await next.submit(batch.slice(0, 1));
    expect(waited && outcomeOf(waited)).toBe("TIMEOUT/NOT_BROADCAST");
    expect(await next.query("select from submissions where state = 'failed'")).toEqual([]);
    await service.node.open();
    await next.until(allIncluded);
    await next.submit([innerOf(9)], INCLUDED);
    expect(service.node.chain.executed).toEqual([...batch, innerOf(9)].map(hashOf));
  });

  it("fails a submission that has waited too long and was not executed", async () => {
    const service = await startRestored("queued");
    await service.query("update unfinished set accepted_at = now() - interval '1 day'");
    service.node.chain.reorg(service.node.chain.height);
    await service.query("update lanes set state = 'stopped'");
    const next = services.closeAfterTest(await service.startReplica({ maxQueueMs: 1_000 }));
    await next.until(
      "select from submissions having bool_and(state = 'failed' and error_reason = 'NOT_BROADCAST')",
    );
    await next.query("update lanes set state = 'open'");
    await next.submit([innerOf(9)], INCLUDED);
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(9))]);
  });

  it("fails a submission with NONCE_TOO_LOW if another transaction used its nonce", async () => {
    const service = await startRestored("queued");
    const rival = innerOf(5, 0, { gasLimit: 90_000n });
    service.node.chain.setNonce(userAddress(5), 1n);
    const next = services.closeAfterTest(await service.startReplica());
    const [line] = await next.submit([rival]);
    expect(outcomeOf(line)).toBe("VALIDATION_FAILED/NONCE_TOO_LOW");
    await next.until("select from submissions having count(*) filter (where state = 'included') = 4");
  });
});

describe("the examination of lanes by `doctor`", () => {
  it("reports findings without changes; with repair, it reconciles lanes that no service owns", async () => {
    const service = await startRestored("signed");
    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    const [dry] = await admin.examine([service.node.url], { repair: false });
    expect(dry).toMatchObject({
      chainNonce: 4n,
      assigned: { lowest: 0n, highest: 3n, count: 4 },
      repaired: false,
    });
    expect(dry?.findings.map(({ outcome }) => outcome.kind)).toEqual(Array(4).fill("included"));
    expect(await service.query(allIncluded)).toEqual([]);
    const [done] = await admin.examine([service.node.url], { repair: true });
    expect(done).toMatchObject({ repaired: true });
    expect(await service.query(allIncluded)).toHaveLength(1);
    const [clean] = await admin.examine([service.node.url], { repair: true });
    expect(clean).toMatchObject({ findings: [], repaired: false });
    await admin.close();
  });

  it("does not repair a lane that a service owns", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], INCLUDED);
    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    expect(await admin.examine([service.node.url], { repair: true })).toMatchObject([
      { findings: [], repaired: false },
    ]);
    await admin.close();
  });

  it("tells of blocks that the chain does not have any more, before and after the lane has stopped for them", async () => {
    const service = await services.start();
    await service.submit([innerOf(1), innerOf(2)], INCLUDED);
    const { chain } = service.node;
    const lost = BigInt(chain.height);
    chain.reorg(chain.height);
    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    const examine = async () => (await admin.examine([service.node.url], { repair: false }))[0];
    expect(await examine()).toMatchObject({
      findings: [],
      lost: { blockNumber: lost, waiverNonce: expect.any(BigInt), found: "no block" },
    });
    // As `stopForLostBlocks` leaves them.
    await service.query("update lanes set state = 'stopped'");
    await service.query("update finished set waiver_nonce = null");
    expect(await examine()).toMatchObject({ lost: { blockNumber: lost, waiverNonce: undefined } });
    await admin.close();
  });

  it("refuses a node on another chain, whose nonces mean nothing here", async () => {
    const service = await startRestored("signed");
    service.node.chain.genesisHash = hashOf(innerOf(1));
    const admin = await openLaneAdmin({ databaseUrl: service.databaseUrl });
    await expect(admin.examine([service.node.url], { repair: true })).rejects.toThrow("another chain");
    expect(await service.query(allIncluded)).toEqual([]);
    await admin.close();
  });
});
