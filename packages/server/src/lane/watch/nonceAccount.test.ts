import { expect, it } from "vitest";
import { bytes, createHeldLane } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import { createNonceAccount } from "./lost.js";

let store: Store;
useTestStore("emptied", async (opened) => {
  store = opened;
});

/** A search over a chain that has used five nonces. */
function searchOver(lane: HeldLane) {
  const move = { name: "first" };
  const asked: bigint[] = [];
  const find = async ({ nonce }: { readonly nonce: bigint }): Promise<NonceUse> => {
    asked.push(nonce);
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
    store: { ...store, moves: { ...store.moves, lastMove: async () => move.name } },
    chain: { nonces: async () => [5n] },
    nonceProofs: { find },
    log: silent,
  };
  const search = createNonceAccount(context as unknown as WatchContext);
  return {
    asked,
    move,
    search: () => search(lane),
  };
}

it("a search for lost wrappers looks under nonces of withdrawn wrappers too, and once more after another failover", async () => {
  const lane = await createHeldLane(store);
  await store.pool.query(
    "insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash) select chain, waiver, 3, '\\x07' from lanes",
  );
  const { asked, move, search } = searchOver(lane);
  await search();
  await search();
  expect(asked).toEqual([4n, 3n, 2n, 1n, 0n]);
  move.name = "second";
  await search();
  expect(asked).toHaveLength(10);
});
