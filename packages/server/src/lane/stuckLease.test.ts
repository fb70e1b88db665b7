import { randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import { createHeldLane } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { registerLanes, releaseLease } from "../store/lanes/lease.js";
import type { Store } from "../store/store.js";
import { createLeaseKeeper } from "./lease.js";

const LEASE_MS = 600;
const OTHER = new Uint8Array(20).fill(7);

let store: Store;
let chain: number;
let waiver: Uint8Array;
useTestStore("shared", async (opened) => {
  store = opened;
  const held = await createHeldLane(store);
  ({ chain, waiver } = held);
  await releaseLease(store, held);
  await registerLanes(store, chain, [OTHER]);
});

it("renews the leases of all other lanes while the row of one is held, and that one when it is free", async () => {
  const options = { leaseMs: LEASE_MS };
  const keeper = createLeaseKeeper({ store, log: silent, options, chain, owner: randomUUID() });
  const stuck = keeper.keep(waiver, () => {});
  const other = keeper.keep(OTHER, () => {});
  await Promise.all([stuck.acquire(), other.acquire()]);
  const holder = await store.pool.connect();
  await holder.query("begin");
  const { rows } = await holder.query<{ now: Date }>("select now() from lanes where waiver = $1 for update", [
    Buffer.from(waiver),
  ]);
  // No lease of the moment of the lock lasts so long.
  const isRenewed = async (of: Uint8Array) =>
    (
      await store.pool.query(
        "select from lanes where waiver = $1 and lease_until > $2::timestamptz + $3 * interval '1 millisecond'",
        [Buffer.from(of), rows[0]?.now, 3 * LEASE_MS],
      )
    ).rowCount === 1;
  const patience = { timeout: 8_000, interval: 50 };
  await vi.waitUntil(() => isRenewed(OTHER), patience);
  expect(await isRenewed(waiver)).toBe(false);
  // A lane that asks for its lease waits for the query that is running, and begins no other.
  stuck.recheck();
  const asked = stuck.acquire();
  await holder.query("commit");
  holder.release();
  expect(await asked).toBeDefined();
  await vi.waitUntil(() => isRenewed(waiver), patience);
  await Promise.all([stuck.release(), other.release()]);
  keeper.close();
});
