import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { createIdempotency, keyedRequestOf, type WriteSlice } from "./idempotency.js";

let store: Store;
useTestStore("emptied", async (opened) => {
  store = opened;
});

it("gives the addresses under a publishable key their turns, however many requests one of them has", async () => {
  const { chain, owner } = await createHeldLane(store);
  const idempotency = createIdempotency({ store, retentionMs: 60_000, place: { chain, origin: owner } });
  const begun: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const decide = (address: string, order: number) => {
    const caller = { keyId: "key", address };
    const request = keyedRequestOf(caller, `order ${order}`, [], chain);
    const { id } = newSubmissionOf(1);
    const write: WriteSlice = async () => {
      begun.push(address);
      await released;
      return { lineSources: [], accepted: [] };
    };
    return idempotency.decide(caller, request, { ids: [id], from: 0, to: 1, refused: [] }, write);
  };
  const all = Array.from({ length: 8 }, (_, i) => decide("192.0.2.1", i));
  all.push(decide("192.0.2.2", 0));
  release();
  await Promise.all(all);
  expect(begun).toHaveLength(9);
  expect(begun.indexOf("192.0.2.2")).toBeLessThan(6);
});
