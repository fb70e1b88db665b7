import { expect, it } from "vitest";
import { createHeldLane } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { createSubmissionsByHash } from "./submissionsByHash.js";

let store: Store;
let chainRef: number;
useTestStore("shared", async (opened) => {
  store = opened;
  ({ chain: chainRef } = await createHeldLane(store));
});

it("reads the queue once for all who ask at the same time, and the finished ones without it", async () => {
  const texts: string[] = [];
  const query = (statement: string | { text: string }) => {
    texts.push(typeof statement === "string" ? statement : statement.text);
    return store.pool.query(statement as never);
  };
  const counted = { ...store, pool: { query } } as unknown as Store;
  const byHash = createSubmissionsByHash(counted, chainRef);
  const hashes = Array.from({ length: 20 }, (_, i) => new Uint8Array(32).fill(i));
  const found = await Promise.all(hashes.map((hash, i) => byHash.readable(`key ${i}`, [hash])));
  expect(found.every((one) => one.size === 0)).toBe(true);
  expect(texts.filter((text) => text.includes("from unfinished"))).toHaveLength(1);
  await byHash.readable("key", hashes);
  expect(texts.filter((text) => text.includes("from unfinished"))).toHaveLength(2);
  expect(await byHash.held(hashes[0] ?? new Uint8Array(32))).toBeUndefined();
});
