import { randomUUID } from "node:crypto";
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it, vi } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { WAIVER } from "../../../test/support/user.js";
import type { Store } from "../store.js";
import { HELD_LEASE, type HeldLane, LeaseLostError, leaseParameters } from "./heldLane.js";
import { releaseLease } from "./lease.js";
import { lowerNonceFloor, raiseNonceFloor } from "./nonces/nonceFloor.js";
import { stopWorkingLane } from "./setLaneState.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

describe("the lease of a lane", () => {
  const waiver = hexToBytes(WAIVER);
  const other = () => ({ chain: lane.chain, waiver, owner: randomUUID() });
  /** Sets the end of the lease, relative to the database's clock. */
  const leaseEndsIn = (text: string) =>
    store.pool.query("update lanes set lease_until = now() + $1::interval", [text]);

  it("belongs to its owner until it ends", async () => {
    await leaseEndsIn("1 minute");
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
    await leaseEndsIn("-1 millisecond");
    expect(await takeLease(store, other(), 60_000)).toMatchObject({ lane: { epoch: lane.epoch + 1n } });
  });

  it("is renewed by its owner under the same epoch, also after it has ended", async () => {
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
    await leaseEndsIn("-1 minute");
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
  });

  it("goes to exactly one of many replicas that ask for it", async () => {
    await leaseEndsIn("-1 minute");
    const leases = await Promise.all(Array.from({ length: 8 }, () => takeLease(store, other(), 60_000)));
    expect(leases.filter((held) => held !== undefined)).toHaveLength(1);
  });

  it("goes from a replica that only watches to one that signs at once, and not to one that watches too", async () => {
    await leaseEndsIn("-1 minute");
    const watching = await takeLease(store, { ...other(), watchOnly: true }, 60_000);
    expect(await takeLease(store, { ...other(), watchOnly: true }, 60_000)).toBeUndefined();
    const signing = await takeLease(store, other(), 60_000);
    expect(signing?.lane.epoch).toBe((watching?.lane.epoch ?? 0n) + 1n);
    expect(await takeLease(store, { ...other(), watchOnly: true }, 60_000)).toBeUndefined();
  });

  it("cannot be released by a replica that has lost it", async () => {
    await leaseEndsIn("-1 minute");
    await takeLease(store, other(), 60_000);
    await releaseLease(store, lane);
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
  });
});

describe("a write of the lane that is still open", () => {
  const other = () => ({ chain: lane.chain, waiver: hexToBytes(WAIVER), owner: randomUUID() });
  /** Begins a transaction, and a guarded write of the lane in it. */
  async function openWrite() {
    const writer = await store.pool.connect();
    await writer.query("begin");
    const write = () => writer.query(`with ${HELD_LEASE} select * from held`, leaseParameters(lane));
    expect((await write()).rowCount).toBe(1);
    return {
      write,
      async commit() {
        await writer.query("commit");
        writer.release();
      },
    };
  }
  const end = () => store.pool.query("update lanes set lease_until = now() - interval '1 minute'");
  const WAITING =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const isWaiting = async () => (await store.pool.query(WAITING)).rowCount === 1;

  it("lets the renewal of the lease pass", async () => {
    const { commit } = await openWrite();
    await end();
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
    await commit();
  });

  it("keeps a takeover back until it has ended; afterwards the former owner, frozen meanwhile, writes nothing", async () => {
    const { write, commit } = await openWrite();
    await end();
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
    expect((await write()).rowCount).toBe(1);
    await commit();
    expect(await takeLease(store, other(), 60_000)).toMatchObject({ lane: { epoch: lane.epoch + 1n } });
    await expect(stopWorkingLane(store, lane, "late")).rejects.toThrow(LeaseLostError);
  });

  it("keeps the floor of the nonces back, which would hide what it stores", async () => {
    const { commit } = await openWrite();
    const raising = raiseNonceFloor(store, lane, 5_000n);
    await vi.waitUntil(isWaiting);
    await commit();
    await raising;
    expect((await store.pool.query("select nonce_floor from lanes")).rows).toEqual([{ nonce_floor: "4900" }]);
  });

  it("sees the floor that was raised while it waited for it", async () => {
    const raiser = await store.pool.connect();
    await raiser.query("begin");
    const pool = { ...store.pool, query: raiser.query.bind(raiser) } as typeof store.pool;
    await raiseNonceFloor({ pool }, lane, 5_000n);
    const floors = store.pool.query<{ nonce_floor: string }>(
      `with ${HELD_LEASE} select nonce_floor from held`,
      leaseParameters(lane),
    );
    await vi.waitUntil(isWaiting);
    await raiser.query("commit");
    raiser.release();
    expect((await floors).rows).toEqual([{ nonce_floor: "4900" }]);
    expect(await lowerNonceFloor(store, lane, 10n)).toBe(true);
  });
});
