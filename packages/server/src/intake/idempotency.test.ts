import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { LoopQueue } from "../util/loopQueue.js";
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
  const decide = async (address: string, order: number) => {
    const caller = { keyId: "key", address };
    const request = await keyedRequestOf(caller, `order ${order}`, [], { chain, loop: new LoopQueue() });
    const { id } = newSubmissionOf(1);
    const write: WriteSlice = async () => {
      begun.push(address);
      await released;
      return { lineSources: [], accepted: [] };
    };
    return await idempotency.decide(caller, request, { ids: [id], from: 0, to: 1, refused: [] }, write);
  };
  const all = Array.from({ length: 8 }, (_, i) => decide("192.0.2.1", i));
  all.push(decide("192.0.2.2", 0));
  release();
  await Promise.all(all);
  expect(begun).toHaveLength(9);
  expect(begun.indexOf("192.0.2.2")).toBeLessThan(6);
});

it("hashes a large batch in turns, and a repetition of it alike", async () => {
  let turns = 0;
  class CountingLoop extends LoopQueue {
    override run<T>(party: string, price: number, work: () => T): Promise<T> {
      turns++;
      return super.run(party, price, work);
    }
  }
  const terms = { chain: 1, loop: new CountingLoop() };
  const large = Array.from({ length: 100 }, (_, i) => `0x${"a".repeat(200_000)}${i}`);
  const first = await keyedRequestOf({ keyId: "key" }, "order", large, terms);
  expect(turns).toBeGreaterThan(30);
  expect(await keyedRequestOf({ keyId: "key" }, "order", large, terms)).toEqual(first);
  expect(await keyedRequestOf({ keyId: "key" }, "order", large.slice(1), terms)).not.toEqual(first);
});
