// The lease of a lane, on a store that answers when the test says so.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import type { Store } from "../../store/store.js";
import { createSchedule } from "../../util/schedule.js";
import { createLeaseKeeper, type LaneLease } from "./lease.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const LEASE_MS = 3_000;

/** Keeps leases on a store that records its queries, in their order. A release is one of them. */
function openLeases(lanes = 1) {
  const queries: {
    readonly kind: "take" | "release";
    readonly lanes: number;
    answer(state: "open" | "stopped"): void;
  }[] = [];
  const waivers = Array.from({ length: lanes }, (_, i) => new Uint8Array(20).fill(i));
  const query = (sql: string | { readonly values: readonly unknown[] }) =>
    new Promise((resolve) => {
      const asked = typeof sql === "string" ? 1 : ((sql.values[1] as Buffer).length - 20) / 24;
      queries.push({
        kind: typeof sql === "string" && sql.includes("owner = null") ? "release" : "take",
        lanes: asked,
        answer: (state) => resolve({ rows: waivers.map((waiver) => ({ waiver, epoch: "1", state })) }),
      });
    });
  const store = { pool: { query } } as unknown as Store;
  const keeper = createLeaseKeeper({
    store,
    log: silent,
    schedule: createSchedule((error) => expect.unreachable(String(error))),
    options: { leaseMs: LEASE_MS },
    chain: 1,
    owner: randomUUID(),
  });
  const taken: number[] = [];
  const leases = waivers.map((waiver, i) => keeper.keep(waiver, () => taken.push(i)));
  const [lease] = leases as [LaneLease];
  return { lease, leases, taken, queries, kinds: () => queries.map(({ kind }) => kind) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the leases of a replica", () => {
  it("are taken and renewed by one statement for all of its lanes", async () => {
    const { leases, queries, taken } = openLeases(200);
    const held = Promise.all(leases.map((lease) => lease.acquire()));
    queries[0]?.answer("open");
    expect((await held).every((lease) => lease?.state === "open")).toBe(true);
    expect(taken).toHaveLength(200);
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    queries[1]?.answer("open");
    await turn();
    expect(queries.map(({ lanes }) => lanes)).toEqual([200, 200]);
    expect(taken).toHaveLength(200);
  });
});

describe("the lease of a lane", () => {
  it("is queried once at a time, however long the answer takes", async () => {
    const { lease, queries } = openLeases();
    const held = lease.acquire();
    queries[0]?.answer("open");
    expect((await held)?.state).toBe("open");
    await vi.advanceTimersByTimeAsync(4 * LEASE_MS);
    expect(queries).toHaveLength(2);
    queries[1]?.answer("open");
    await turn();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(queries).toHaveLength(3);
  });

  it("is queried again if the answer may be older than a recheck", async () => {
    const { lease, queries } = openLeases();
    const held = lease.acquire();
    lease.recheck();
    queries[0]?.answer("open");
    await turn();
    queries[1]?.answer("stopped");
    expect((await held)?.state).toBe("stopped");
    lease.forget();
    expect(lease.current()).toBeUndefined();
  });

  it("is released after the last query, which would take it again", async () => {
    const { lease, queries, kinds } = openLeases();
    const held = lease.acquire();
    queries[0]?.answer("open");
    await held;
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    const ended = lease.release();
    await turn();
    expect(kinds()).toEqual(["take", "take"]);
    queries[1]?.answer("open");
    await turn();
    expect(kinds()).toEqual(["take", "take", "release"]);
    queries[2]?.answer("open");
    await ended;
  });
});
