import { expect, it } from "vitest";
import { bytes, createHeldLane } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { NonceUse } from "../chain/nonceProof.js";
import type { Store } from "../store/store.js";
import type { WatchContext } from "./context.js";
import { createLostWrapperSearch } from "./searchLost.js";

let store: Store;
useTestStore("perTest", async (opened) => {
  store = opened;
});

it("a search for lost wrappers gives way to what is in flight, and goes on where it was", async () => {
  const lane = await createHeldLane(store);
  let nowMs = 0;
  const asked: bigint[] = [];
  const find = async ({ nonce }: { readonly nonce: bigint }): Promise<NonceUse> => {
    asked.push(nonce);
    nowMs += 200;
    const transaction = {
      hash: bytes(32, 9),
      from: lane.waiver,
      nonce,
      to: undefined,
      input: new Uint8Array(),
    };
    const block = { blockNumber: 1n, blockHash: bytes(32, 1), blockTransactions: [] };
    return { nonce, transaction, by: "sender", ...block };
  };
  const context = {
    store,
    chain: { nonces: async () => [5n] },
    nonceProofs: { find },
    log: silent,
  } as unknown as WatchContext;
  const search = createLostWrapperSearch(context, () => nowMs);
  const hasMore = [await search.search(lane), await search.search(lane), await search.search(lane)];
  expect(hasMore).toEqual([true, true, false]);
  expect(asked).toEqual([4n, 3n, 2n, 1n, 0n]);
});
