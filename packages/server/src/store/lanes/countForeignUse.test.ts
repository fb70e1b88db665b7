import { describe, expect, it } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
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
    expect(await countForeignUse(store, lane)).toBe(1);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '23 hours'");
    expect(await countForeignUse(store, lane)).toBe(2);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '25 hours'");
    expect(await countForeignUse(store, lane)).toBe(1);
  });
});
