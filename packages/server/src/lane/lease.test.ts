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

/** Keeps a lease on a store that records the questions for it, in their order. The release is one of them. */
function kept() {
  const asked: { readonly kind: "take" | "release"; answer(state: "open" | "stopped"): void }[] = [];
  const query = (sql: string) =>
    new Promise((resolve) => {
      asked.push({
        kind: sql.includes("'-infinity'") ? "release" : "take",
        answer: (state) => resolve({ rows: [{ epoch: "1", state }] }),
      });
    });
  const lane = { chain: 1, waiver: new Uint8Array(20), owner: randomUUID() };
  const store = { pool: { query } } as unknown as Store;
  const lease = keepLease(lane, { store, log: silent, options: { leaseMs: LEASE_MS } });
  return { lease, asked, kinds: () => asked.map(({ kind }) => kind) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the lease of a lane", () => {
  it("is asked for once at a time, however long the answer takes", async () => {
    const { lease, asked } = kept();
    const held = lease.acquire();
    asked[0]?.answer("open");
    expect((await held)?.state).toBe("open");
    vi.advanceTimersByTime(4 * LEASE_MS);
    expect(asked).toHaveLength(2);
    asked[1]?.answer("open");
    await turn();
    vi.advanceTimersByTime(LEASE_MS);
    expect(asked).toHaveLength(3);
  });

  it("is asked for again if the answer may be older than a recheck", async () => {
    const { lease, asked } = kept();
    const held = lease.acquire();
    lease.recheck();
    asked[0]?.answer("open");
    await turn();
    asked[1]?.answer("stopped");
    expect((await held)?.state).toBe("stopped");
    lease.forget();
    expect(lease.current()).toBeUndefined();
  });

  it("is released after the last question, which would take it again", async () => {
    const { lease, asked, kinds } = kept();
    const held = lease.acquire();
    asked[0]?.answer("open");
    await held;
    vi.advanceTimersByTime(LEASE_MS);
    const ended = lease.release();
    await turn();
    expect(kinds()).toEqual(["take", "take"]);
    asked[1]?.answer("open");
    await turn();
    expect(kinds()).toEqual(["take", "take", "release"]);
    asked[2]?.answer("open");
    await ended;
  });
});
