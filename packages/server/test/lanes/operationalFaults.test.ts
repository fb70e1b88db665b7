// Operational faults: a key in two services, clocks that jump, a waiver without a registration, a full disk.
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openLaneAdmin } from "../../src/lane/admin/admin.js";
import { GOOD_HEADERS, outcomeOf, TestService, testServices } from "../support/testService.js";
import {
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  userAddress,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const patience = { speed: 10 };
const services = testServices({ patience });
const INCLUDED = { query: "?wait=included" };
afterEach(() => {
  vi.useRealTimers();
});

describe("two services with the same key and different databases", () => {
  it("stop the lane that loses its nonce for the second time, with the reason; nothing runs twice", async () => {
    const winner = await services.start({}, { automine: false });
    const { node } = winner;
    const databaseUrl = await services.databases.createDatabase();
    const changes = { requestTimeoutMs: 100 };
    const loser = services.closeAfterTest(await TestService.start({ node, databaseUrl, changes, patience }));
    await loser.until("select from lanes where owner is not null");
    for (const conflict of [1, 2]) {
      // The loser does not know that the winner's wrapper has the nonce, and signs another one under it.
      await winner.submit([innerOf(conflict)]);
      await loser.submit([innerOf(10 + conflict)]);
      await loser.until("select from submissions where state = 'signed'");
      node.mine();
      await loser.until("select from lanes where foreign_uses = $1", [conflict]);
      if (conflict === 1) {
        // After the first conflict the loser sends its submission under the next nonce.
        await loser.until("select from submissions where state = 'broadcast'");
        node.mine();
        await loser.until("select from submissions where state = 'included'");
      }
    }
    const [stopped] = await loser.until<{ reason: string }>(
      "select reason from lanes where state = 'stopped'",
    );
    expect(stopped?.reason).toMatch(/^something else sends with this waiver's key: its nonces \d/);
    const sent = node.sent.length;
    await winner.submit([innerOf(3)]);
    node.mine();
    expect((await winner.submit([innerOf(1), innerOf(2), innerOf(3)], INCLUDED)).map(outcomeOf)).toEqual(
      Array(3).fill("success"),
    );
    expect(node.sent).toHaveLength(sent + 1);

    // An operator has made sure that no other service has the key.
    await winner.server.close();
    const admin = await openLaneAdmin({ databaseUrl });
    await admin.set(Buffer.from(WAIVER.slice(2), "hex"), "open");
    await admin.close();
    await loser.until("select from submissions having bool_and(state in ('broadcast', 'included'))");
    node.mine();
    await loser.until("select from submissions having bool_and(state = 'included')");
    expect(node.chain.executed).toHaveLength(5);
    expect(new Set(node.chain.executed).size).toBe(5);
  });
});

describe("a clock that jumps by an hour", () => {
  it.each([1, -1])("of the service (%i h) changes no lease, no open line and no order", async (hours) => {
    const service = await services.start({ leaseMs: 300 }, { automine: false });
    await service.submit([innerOf(1)]);
    const leaseQuery = "select owner, epoch from lanes";
    const before = await service.query(leaseQuery);
    const lines = service.submit([innerOf(1), innerOf(2, 0), innerOf(2, 1)], INCLUDED);
    await service.node.until(({ sent }) => sent.length === 3);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
    const later = service.submit([innerOf(2, 3), innerOf(2, 2)]);
    await service.node.until(({ sent }) => sent.length === 5);
    expect((await later).map(outcomeOf)).toEqual(["success", "success"]);
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(Array(3).fill("success"));
    const ofUser2 = [0, 1, 2, 3].map((nonce) => hashOf(innerOf(2, nonce)));
    expect(service.node.chain.executed.filter((hash) => ofUser2.includes(hash))).toEqual(ofUser2);
    expect(await service.query(leaseQuery)).toEqual(before);
  });

  it("of the service, by days for a moment, moves no id", async () => {
    const service = await services.start();
    const timeOf = ({ id }: { readonly id: string }) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    const apartMs = async (user: number) => {
      const [line] = await service.submit([innerOf(user)], INCLUDED);
      expect(line && outcomeOf(line)).toBe("success");
      const [row] = await service.query<{ accepted_at: Date }>(
        "select accepted_at from submissions order by accepted_at desc limit 1",
      );
      return line && row ? Math.abs(timeOf(line) - row.accepted_at.getTime()) : Number.NaN;
    };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3.5 * 86_400_000 });
    expect(await apartMs(1)).toBeLessThan(60_000);
    vi.useRealTimers();
    expect(await apartMs(2)).toBeLessThan(60_000);
  });

  it("of the database, by 12 minutes forwards, ends nothing that has just been accepted", async () => {
    const service = await services.start({ requestTimeoutMs: 100 }, { automine: false });
    // One waits for an earlier nonce, and the other has its line and waits in the queue of a waiver that nobody has.
    for (const [user, nonce] of [
      [1, 7],
      [2, 0],
    ] as const)
      await service.submit([innerOf(user, nonce)]);
    await service.query(
      "insert into lanes (chain, waiver) select chain, '\\x00' || substr(waiver, 2) from lanes",
    );
    const OTHER = "update unfinished set waiver = '\\x00' || substr(waiver, 2) where sender = $1";
    await service.query(OTHER, [Buffer.from(userAddress(2).slice(2), "hex")]);
    await service.query("update unfinished set accepted_at = accepted_at - interval '12 minutes'");
    // The time of some rounds in which old submissions are ended.
    const end = performance.now() + 3_000;
    for (let user = 3; performance.now() < end; user++) await service.submit([innerOf(user)]);
    expect(await service.query("select error_reason from submissions where state = 'failed'")).toEqual([]);
  });

  it("of the database, backwards, does not let a dead owner's lease hold for an hour", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], INCLUDED);
    await service.server.close();
    // Times that were written before the clock was set back are an hour ahead.
    await service.query("update lanes set owner = $1, lease_until = now() + interval '1 hour'", [
      randomUUID(),
    ]);
    const next = services.closeAfterTest(await service.startReplica());
    const lines = await next.submit([innerOf(2)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(["success"]);
  });

  it("of the database, backwards, does not postpone a submission by an hour", async () => {
    const service = await services.start({ requestTimeoutMs: 100 });
    await service.node.close();
    await service.submit([innerOf(1)]);
    await service.server.close();
    await service.query("update unfinished set look_at = now() + interval '1 hour'");
    await service.node.open();
    const next = services.closeAfterTest(await service.startReplica({ requestTimeoutMs: 200_000 }));
    const lines = await next.submit([innerOf(1)], INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(["success"]);
  });

  it("of the database, forwards, lets another replica take the lane; the former owner is fenced, and nothing runs twice", async () => {
    const first = await services.start({}, { automine: false });
    await first.submit([innerOf(1)]);
    const second = services.closeAfterTest(await first.startReplica());
    await first.query("update lanes set lease_until = lease_until - interval '1 hour'");
    const lines = Promise.all([first.submit([innerOf(2)]), second.submit([innerOf(3)])]);
    expect((await lines).flat().map(outcomeOf)).toEqual(["success", "success"]);
    first.node.mine();
    await first.until("select from submissions having bool_and(state = 'included')");
    expect(first.node.chain.executed).toHaveLength(3);
  });
});

describe("a waiver without a registration", () => {
  it("takes no work, shows the reason, and leaves the work to the others", async () => {
    const service = await services.start({
      waivers: accountsOf(SECOND_KEY, WAIVER_KEY),
    });
    service.node.chain.revoked.add(SECOND_WAIVER);
    const batch = Array.from({ length: 20 }, (_, i) => innerOf(1 + i));
    expect((await service.submit(batch, INCLUDED)).map(outcomeOf)).toEqual(Array(20).fill("success"));
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBe(0n);
    expect(service.node.chain.nonceOf(WAIVER)).toBe(20n);
    const [lane] = await service.query<{ reason: string }>("select reason from lanes where waiver = $1", [
      Buffer.from(SECOND_WAIVER.slice(2), "hex"),
    ]);
    expect(lane?.reason).toContain("is not a registered waiver");
  });
});

describe("a full disk under PostgreSQL", () => {
  const TABLES = ["unfinished", "finished", "lanes"];
  // Every write raises the error of a full disk, SQLSTATE 53100.
  const FILL = [
    `create function disk_is_full() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file: No space left on device' using errcode = '53100';
     end $$`,
    ...TABLES.map(
      (table) => `create trigger disk_is_full before insert or update on ${table}
        for each statement execute function disk_is_full()`,
    ),
  ];
  const FREE = TABLES.map((table) => `drop trigger disk_is_full on ${table}`);
  /** Each statement commits by itself: who waits for the lock of one table holds no other, so no write can deadlock with it. */
  const run = async (service: TestService, statements: readonly string[]) => {
    for (const statement of statements) await service.query(statement);
  };

  it("refuses requests with UNAVAILABLE, loses nothing that was accepted, and recovers by itself", async () => {
    const service = await services.start({ leaseMs: 300 }, { automine: false });
    await service.submit([innerOf(1)]);
    // The line may come before the store knows of the broadcast.
    await service.until("select from submissions where state = 'broadcast'");
    await run(service, FILL);
    const refused = await service.post(JSON.stringify({ transactions: [innerOf(2)] }));
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([503, "UNAVAILABLE"]);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    const record = await service.submit([innerOf(1)]).catch((error: Error) => error.message);
    expect(String(record)).toContain("UNAVAILABLE");
    // The chain executes the transaction in flight, and the service cannot store the inclusion.
    service.node.mine();
    await service.node.nextCall("eth_getTransactionReceipt");
    expect((await service.rows()).map(({ state }) => state)).toEqual(["broadcast"]);
    await run(service, FREE);
    const lines = service.submit([innerOf(1), innerOf(2)], INCLUDED);
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(["success", "success"]);
    expect(service.node.chain.executed).toEqual([innerOf(1), innerOf(2)].map(hashOf));
  });

  it("under the outcomes alone stays the trouble of the store, and what their lane waits for, until one can be stored", async () => {
    const service = await services.start({}, { automine: false });
    await service.submit([innerOf(1)]);
    await service.until("select from submissions where state = 'broadcast'");
    await run(
      service,
      FILL.filter((statement) => !/ on (unfinished|lanes)/.test(statement)),
    );
    service.node.mine();
    await service.until("select from unfinished where wait_of(id) = 'the store has no room left'");
    const storeOf = async () => {
      const { text } = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
      return JSON.parse(text).parts.store;
    };
    await expect
      .poll(storeOf, { timeout: 60_000 })
      .toEqual({ ok: false, message: "the store has no room left" });
    // Accepting goes on, and ends no trouble of another table.
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
    await expect.poll(storeOf, { timeout: 60_000 }).toMatchObject({ ok: false });
    await run(service, ["drop trigger disk_is_full on finished"]);
    await service.until("select from finished");
    await expect.poll(storeOf, { timeout: 60_000 }).toEqual({ ok: true });
  });
});
