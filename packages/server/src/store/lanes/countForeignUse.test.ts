import { describe, expect, it } from "vitest";
import { bytes, createHeldLane } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../store.js";
import { countForeignUse } from "./setLaneState.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

describe("foreign uses of a waiver's key", () => {
  it("add up within a day of each other, and fade afterwards", async () => {
    const lane = await createHeldLane(store);
    const count = async (waiverNonce: bigint) =>
      (await countForeignUse(store, lane, [{ waiverNonce, wrapperHash: bytes(32, 1) }])).foreignUses;
    expect(await count(1n)).toBe(1);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '23 hours'");
    expect(await count(2n)).toBe(2);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '25 hours'");
    expect(await count(3n)).toBe(1);
  });

  it("are each counted once, by whichever part of the lane finds them", async () => {
    await store.pool.query("truncate lanes");
    const lane = await createHeldLane(store);
    const use = { waiverNonce: 7n, wrapperHash: bytes(32, 2) };
    expect(await countForeignUse(store, lane, [use])).toEqual({ foreignUses: 1, isNew: true });
    expect(await countForeignUse(store, lane, [use])).toEqual({ foreignUses: 1, isNew: false });
  });
});
