import { expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { adoptChain, lastChain } from "./chains.js";
import type { Store } from "./store.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

it("replicas that adopt a new chain at the same time get the same number for it", async () => {
  const identity = { chainId: 2201, genesisHash: bytes(32, 1) };
  const refs = await Promise.all(Array.from({ length: 8 }, () => adoptChain(store, identity)));
  expect(new Set(refs).size).toBe(1);
  expect(await lastChain(store)).toMatchObject({ chainRef: refs[0] });
  const next = await adoptChain(store, { ...identity, genesisHash: bytes(32, 2) });
  expect(next).toBeGreaterThan(refs[0] ?? 0);
});
