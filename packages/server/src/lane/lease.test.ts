// The lease of a lane, on a store that answers when the test says so.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import type { Store } from "../store/store.js";
import { keepLease } from "./lease.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const LEASE_MS = 3_000;

/** Keeps a lease on a store that records its queries, in their order. The release is one of them. */
function openLease() {
  const queries: { readonly kind: "take" | "release"; answer(state: "open" | "stopped"): void }[] = [];
  const query = (sql: string) =>
    new Promise((resolve) => {
      queries.push({
        kind: sql.includes("owner = null") ? "release" : "take",
        answer: (state) => resolve({ rows: [{ epoch: "1", state }] }),
      });
    });
  const lane = { chain: 1, waiver: new Uint8Array(20), owner: randomUUID() };
  const store = { pool: { query } } as unknown as Store;
  const lease = keepLease(lane, { store, log: silent, options: { leaseMs: LEASE_MS } });
  return { lease, queries, kinds: () => queries.map(({ kind }) => kind) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the lease of a lane", () => {
  it("is queried once at a time, however long the answer takes", async () => {
    const { lease, queries } = openLease();
    const held = lease.acquire();
    queries[0]?.answer("open");
    expect((await held)?.state).toBe("open");
    vi.advanceTimersByTime(4 * LEASE_MS);
    expect(queries).toHaveLength(2);
    queries[1]?.answer("open");
    await turn();
    vi.advanceTimersByTime(LEASE_MS);
    expect(queries).toHaveLength(3);
  });

  it("is queried again if the answer may be older than a recheck", async () => {
    const { lease, queries } = openLease();
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
    const { lease, queries, kinds } = openLease();
    const held = lease.acquire();
    queries[0]?.answer("open");
    await held;
    vi.advanceTimersByTime(LEASE_MS);
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
