// A submission does not end while one of its wrappers may still land.
import { describe, expect, it } from "vitest";
import type { NodeClient } from "../../src/chain/client/nodeClient.js";
import { createNonceProofs } from "../../src/chain/nonceProof.js";
import type { NonceUse } from "../../src/chain/nonceUse.js";
import { Entries } from "../../src/lane/law/entries.js";
import { type ReconcileContext, reconcile } from "../../src/lane/law/reconcile.js";
import { requeueMisplaced } from "../../src/lane/law/requeue.js";
import type { HeldLane } from "../../src/store/lanes/heldLane.js";
import { closeWithdrawnWrappers, countOpenWrappers } from "../../src/store/lanes/nonces/withdrawnWrappers.js";
import { findInFlight } from "../../src/store/lanes/queue/unfinished.js";
import type { Store } from "../../src/store/store.js";
import { findOverdueQueued } from "../../src/store/transitions/expireQueued.js";
import { saveFailed } from "../../src/store/transitions/saveFailed.js";
import { saveIncluded } from "../../src/store/transitions/saveIncluded.js";
import { saveReorged } from "../../src/store/transitions/saveReorged.js";
import { saveRequeued } from "../../src/store/transitions/saveRequeued.js";
import { saveSigned } from "../../src/store/transitions/saveSigned.js";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  signingsOf,
  TRANSITION_TO,
} from "../support/submissions.js";
import { silent } from "../support/testPostgres.js";
import { useTestStore } from "../support/testStore.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});
const overdue = () =>
  findOverdueQueued(store, lane.chain, {
    ...{ maxQueueMs: -1_000, before: new Date(Date.now() + 1_000), since: new Date(0), limit: 10 },
  });
const signAs = async (id: string, waiverNonce: bigint, fill: number) => {
  const wrapper = { waiverNonce, wrapperHash: bytes(32, fill), wrapperRaw: bytes(200, fill) };
  return saveSigned(store, lane, [{ id, signings: (await signingsOf(store, id)) + 1, ...wrapper }]);
};

describe("evidence before finality", () => {
  it("a wrapper in the pool stays open when a reorg removes the block of the other wrapper that carried its InnerTx", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
    await signAs(id, 1n, 9);
    await TRANSITION_TO.broadcast(store, lane, id);
    // The first wrapper landed, in a block that a reorg removes. Another transaction uses its nonce afterwards.
    const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 1n, reverted: false };
    await saveIncluded(store, lane, [{ id, ...block, carriedBy: "unknown" }], false);
    await saveReorged(store, lane, [id]);
    await closeWithdrawnWrappers(store, lane, [{ waiverNonce: 0n, wrapperHash: bytes(32, 2) }]);
    // The second wrapper is still in the node's pool.
    expect((await countOpenWrappers(store, [id])).get(id)).toBe(1);
    expect(await overdue()).toEqual([]);
  });

  it("a proof about one wrapper does not close the next one, which was signed during the search for the proof", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 5n);
    const use: NonceUse = {
      nonce: 5n,
      by: "sender",
      blockTransactions: [],
      transaction: { hash: bytes(32, 77), from: lane.waiver, nonce: 5n, to: undefined, input: bytes(0, 0) },
      blockNumber: 3n,
      blockHash: bytes(32, 3),
    };
    const context: ReconcileContext = {
      store,
      chain: {
        snapshot: async () => ({ nonces: [6n, 0n], receipts: [undefined], nonceAfter: 6n }),
      } as unknown as NodeClient,
      results: { publish: () => {} },
      log: silent,
      options: { reorgDepth: 0 },
      entries: new Entries(),
      nonceProofs: {
        async find() {
          // Meanwhile a step of the lane requeues the submission and signs another wrapper, which goes to the node.
          await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
          await signAs(id, 9n, 9);
          return use;
        },
      },
      onLaneStopped: () => {},
    };
    const candidates = await findInFlight(store, lane, { limit: 10 });
    await reconcile(lane, candidates, context);
    const { rows } = await store.pool.query(
      "select waiver_nonce, open_for from withdrawn where waiver_nonce = 9",
    );
    expect(
      rows.filter((row) => row.open_for === null),
      "the new wrapper is withdrawn as dead",
    ).toEqual([]);
  });

  it("a refusal of one wrapper fails no submission that has another wrapper by now, or an open one", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 5n);
    const refusal = { id, reason: "TARGET_NOT_ALLOWED", message: "no" } as const;
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: false });
    await signAs(id, 6n, 9);
    expect(await saveFailed(store, lane, [{ ...refusal, condition: bytes(32, 2) }])).toEqual([]);
    expect(await saveFailed(store, lane, [{ ...refusal, condition: "queued" }])).toEqual([]);
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
    await signAs(id, 7n, 10);
    expect(await saveFailed(store, lane, [{ ...refusal, condition: bytes(32, 10) }])).toEqual([]);
    const { rows } = await store.pool.query("select from withdrawn where waiver_nonce = 7");
    expect(rows, "the open wrapper is withdrawn").toEqual([]);
    expect(await saveFailed(store, lane, [{ ...refusal, condition: "always" }])).toMatchObject([{ id }]);
  });

  it("a late answer to one wrapper does not queue a submission that has another one by now", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 5n);
    const [first] = await findInFlight(store, lane, { limit: 1 });
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
    await signAs(id, 6n, 9);
    expect(await requeueMisplaced(lane, first ? [first] : [], "sender gap", { store })).toEqual([]);
    const [second] = await findInFlight(store, lane, { limit: 1 });
    expect(await requeueMisplaced(lane, second ? [second] : [], "sender gap", { store })).toMatchObject([
      { id },
    ]);
  });

  it("twenty submissions without a proof do not keep the twenty-first from its proof", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 21; i++)
      ids.push(await createSubmission("signed", store, lane, newSubmissionOf(1 + i), BigInt(i)));
    let now = 0;
    let searches = 0;
    const input = bytes(0, 0);
    const foreign = { hash: bytes(32, 77), from: lane.waiver, nonce: 20n, to: undefined, input };
    const nonceProofs = createNonceProofs({
      chain: {
        blockNumber: async () => 30n,
        noncesAt: async (_, heights) => {
          searches++;
          return heights.map(() => undefined);
        },
        blockHashes: async () => [],
        blocks: async (heights) => {
          searches++;
          return heights.map((height) => ({
            hash: bytes(32, 3),
            transactions: height === 25n ? [foreign] : [],
          }));
        },
      },
      reorgDepth: 0,
      now: () => now,
    });
    const context: ReconcileContext = {
      store,
      chain: {
        snapshot: async (addresses: Uint8Array[], hashes: Uint8Array[]) => ({
          nonces: addresses.map((_, i) => (i === 0 ? 21n : 0n)),
          receipts: hashes.map(() => undefined),
          nonceAfter: 21n,
        }),
      } as unknown as NodeClient,
      results: { publish: () => {} },
      log: silent,
      options: { reorgDepth: 0 },
      entries: new Entries(() => now),
      nonceProofs,
      onLaneStopped: () => {},
    };
    for (let poll = 0; poll < 300; poll++) {
      await reconcile(lane, await findInFlight(store, lane, { limit: 100 }), context);
      await nonceProofs.search();
      now += 200;
    }
    const { rows } = await store.pool.query("select state from unfinished where id = $1", [ids[20]]);
    expect.soft(rows).toEqual([{ state: "queued" }]);
    expect.soft(searches, "proofs are searched without a pause").toBeLessThan(1_000);
  });
});
