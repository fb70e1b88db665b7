// The leases of a replica while the database locks rows, or a connection to it is dead.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { TcpForwarder } from "../../../test/support/tcpForwarder.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { registerLanes, releaseLease } from "../../store/lanes/lease.js";
import { type OpenStore, openStore, type Store } from "../../store/store.js";
import { createSchedule } from "../../util/schedule.js";
import { createLeaseKeeper, type LaneLease } from "./lease.js";

const LOCKED = Array.from({ length: 8 }, (_, i) => new Uint8Array(20).fill(i + 1));
const FREE = new Uint8Array(20).fill(0xaa);
const PATIENCE = { timeout: 60_000, interval: 20 };

let store: Store;
let chain: number;
let url: URL;
let forwarder: TcpForwarder;
let proxiedUrl: string;
let opened: OpenStore;
useTestStore("shared", async (shared, databaseUrl) => {
  store = shared;
  url = new URL(databaseUrl);
  const held = await createHeldLane(store);
  ({ chain } = held);
  await releaseLease(store, held);
  await registerLanes(store, chain, [...LOCKED, FREE]);
});
beforeEach(async () => {
  const target = join(url.searchParams.get("host") ?? "", ".s.PGSQL.5432");
  forwarder = new TcpForwarder(() => target);
  await forwarder.open();
  proxiedUrl = Object.assign(new URL(url), { host: `127.0.0.1:${forwarder.port}`, search: "" }).href;
});
afterEach(async () => {
  // A goodbye on a frozen connection would wait for its time-out.
  forwarder.cut();
  await opened.close();
  await forwarder.close();
});

/** Takes the leases of all lanes, over the forwarder. */
async function keepLeases(leaseMs: number) {
  opened = await openStore({ databaseUrl: proxiedUrl, leaseMs }, silent);
  const dependencies = {
    store: opened.forRole("leases"),
    log: silent,
    schedule: createSchedule((error) => expect.unreachable(String(error))),
    options: { leaseMs },
  };
  const keeper = createLeaseKeeper({ ...dependencies, chain, owner: randomUUID() });
  const woken: number[] = [];
  const leases = [...LOCKED, FREE].map((waiver, i) => keeper.keep(waiver, () => woken.push(i)));
  await Promise.all(leases.map((lease) => lease.acquire()));
  woken.length = 0;
  return {
    woken,
    locked: leases.slice(0, -1),
    free: leases.at(-1) as LaneLease,
    async close() {
      await Promise.all(leases.map((lease) => lease.release()));
      keeper.close();
    },
  };
}

/** Whether the lane's lease ends later than so many ms after the moment. */
async function endsAfter(waiver: Uint8Array, moment: Date, ms: number): Promise<boolean> {
  const { rowCount } = await store.pool.query(
    "select from lanes where waiver = $1 and lease_until > $2::timestamptz + $3 * interval '1 millisecond'",
    [Buffer.from(waiver), moment, ms],
  );
  return rowCount === 1;
}
async function now(): Promise<Date> {
  return (await store.pool.query<{ now: Date }>("select now()")).rows[0]?.now as Date;
}

describe("somebody who locks the rows of many lanes for longer than a lease", () => {
  it("stops no other lane's renewal; the locked lanes rest, and go on when their rows are free", async () => {
    const leaseMs = 600;
    const { locked, free, woken, close } = await keepLeases(leaseMs);
    const holder = await store.pool.connect();
    await holder.query("begin");
    await holder.query("select from lanes where waiver = any($1) for update", [
      LOCKED.map((w) => Buffer.from(w)),
    ]);
    const lockedAt = await now();
    await vi.waitUntil(() => locked.every((lease) => lease.current() === undefined), PATIENCE);
    // No lease that was taken before the rows were locked for longer than a lease ends so late.
    await vi.waitUntil(() => endsAfter(FREE, lockedAt, 2 * leaseMs), PATIENCE);
    expect(free.current()).toBeDefined();
    // No statement waits for the rows, however many are locked.
    const { rows } = await store.pool.query(
      "select query from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    expect(rows).toEqual([]);
    await holder.query("commit");
    holder.release();
    await vi.waitUntil(() => woken.length === LOCKED.length, PATIENCE);
    expect(locked.every((lease) => lease.current() !== undefined)).toBe(true);
    await close();
  });
});

describe("connections that pass no byte any more", () => {
  it("cost no lease: the renewal gives up in time and gets a new one", async () => {
    const leaseMs = 3_600;
    const { free, locked, close } = await keepLeases(leaseMs);
    const epochs = () => [...locked, free].map((lease) => lease.current()?.lane.epoch);
    const before = epochs();
    forwarder.freeze();
    const frozenAt = await now();
    let isOver = false;
    const isRenewed = async () => {
      const { rowCount } = await store.pool.query(
        "select from lanes where owner is not null and lease_until < now()",
      );
      isOver ||= rowCount !== 0;
      return await endsAfter(FREE, frozenAt, leaseMs);
    };
    await vi.waitUntil(isRenewed, PATIENCE);
    expect({ isOver, epochs: epochs() }).toEqual({ isOver: false, epochs: before });
    await close();
  });
});
