import { describe, expect, it } from "vitest";
import { useTestStore } from "../../../test/support/testStore.js";
import { adoptChain } from "../chains.js";
import type { Store } from "../store.js";
import { countForeignUse } from "./countForeignUse.js";
import { registerLane } from "./lease.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

describe("foreign uses of a waiver's key", () => {
  it("add up within a day of each other, and fade afterwards", async () => {
    const chain = await adoptChain(store, { chainId: 2201, genesisHash: new Uint8Array(32) });
    const waiver = new Uint8Array(20).fill(1);
    await registerLane(store, { chain, waiver });
    expect(await countForeignUse(store, chain, waiver)).toBe(1);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '23 hours'");
    expect(await countForeignUse(store, chain, waiver)).toBe(2);
    await store.pool.query("update lanes set foreign_use_at = foreign_use_at - interval '25 hours'");
    expect(await countForeignUse(store, chain, waiver)).toBe(1);
  });
});
