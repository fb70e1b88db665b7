import { type ErrorValues, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type {
  InclusionReceipt,
  NodeClient,
  NodeSnapshot,
  ReceiptAnswer,
} from "../../chain/client/nodeClient.js";
import { SEARCH_AFTER_MS } from "../../chain/nonceProof.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { SubmissionUpdate } from "../../results/results.js";
import type { RevertedSubmission } from "../../results/revertCauses.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight } from "../../store/lanes/queue/unfinished.js";
import { setLaneState } from "../../store/lanes/setLaneState.js";
import type { Store } from "../../store/store.js";
import { findSubmissions } from "../../store/submissions/findSubmissions.js";
import type { Candidate } from "./chainOutcomes.js";
import { Entries, PATIENCE_MS } from "./entries.js";
import { type ReconcileContext, reconcile } from "./reconcile.js";

describe("a reconciled submission", () => {
  let store: Store;
  let lane: HeldLane;
  let nowMs: number;
  let nodeSnapshot: NodeSnapshot;
  let toldNonces: bigint[];
  let published: SubmissionUpdate[];
  /** The receipt of the wrapper. */
  let wrapperReceipt: InclusionReceipt | undefined;
  /** The transaction that used a nonce, as final blocks show it. */
  let nonceUses: Map<bigint, NonceUse>;
  /** The times at which the use of a nonce was first asked for. */
  let askedAt: Map<bigint, number>;
  let context: ReconcileContext;
  useTestStore("emptied", async (opened) => {
    store = opened;
    lane = await createHeldLane(store);
    nowMs = 0;
    published = [];
    wrapperReceipt = undefined;
    nonceUses = new Map();
    askedAt = new Map();
    const chain: Pick<NodeClient, "snapshot" | "blocks" | "noncesByEach" | "receiptsByEach"> = {
      snapshot: async () => nodeSnapshot,
      receiptsByEach: async () => [wrapperReceipt],
      noncesByEach: async () => [toldNonces],
      blocks: async (heights) => heights.map(() => ({ hash: receipt.blockHash, transactions: [] })),
    };
    context = {
      store,
      chain: chain as NodeClient,
      results: { publish: (moved, updateOf) => published.push(...moved.map(({ id }) => updateOf(id))) },
      log: silent,
      options: { reorgDepth: 0 },
      entries: new Entries(() => nowMs),
      nonceProofs: {
        async find({ nonce }) {
          const first = askedAt.get(nonce) ?? nowMs;
          askedAt.set(nonce, first);
          return nowMs - first < SEARCH_AFTER_MS ? undefined : nonceUses.get(nonce);
        },
      },
      onLaneStopped: () => {},
    };
  });

  const receipt: InclusionReceipt = {
    blockNumber: 7n,
    blockHash: bytes(32, 7),
    gasUsed: 1n,
    succeeded: true,
  };
  const BLOCK = { blockNumber: "7", gasUsed: "1" };
  /** Sets the chain's next nonces of waiver and sender, and the InnerTx's receipt. */
  const setChain = (waiverNonce: bigint, senderNonce: bigint, found?: ReceiptAnswer) => {
    nodeSnapshot = { nonces: [waiverNonce, senderNonce], receipts: [found], nonceAfter: waiverNonce };
  };
  /** Adds a final block with a transaction under this nonce: a foreign one, or the wrapper with this hash. */
  const addFinalBlock = (nonce: bigint, hash: Uint8Array = bytes(32, 99), innerHash?: Uint8Array) => {
    const transaction = { hash, from: bytes(20, 1), nonce, to: undefined, input: new Uint8Array() };
    const blockTransactions = [transaction, ...(innerHash ? [{ ...transaction, hash: innerHash }] : [])];
    nonceUses.set(nonce, {
      nonce,
      transaction,
      by: "sender",
      blockNumber: 7n,
      blockHash: bytes(32, 7),
      blockTransactions,
    });
  };
  const stateOf = async (id: string) => (await findSubmissions(store, [id]))[0];
  async function broadcast(): Promise<Candidate> {
    await createSubmission("broadcast", store, lane, newSubmissionOf(1), 4n);
    const [candidate] = await findInFlight(store, lane, { limit: 1 });
    if (candidate === undefined) throw new Error("nothing is in flight");
    return candidate;
  }

  it("is included by its receipt, whatever the nonces say", async () => {
    const candidate = await broadcast();
    setChain(0n, 0n, receipt);
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({
      state: "included",
      blockNumber: 7n,
      reverted: false,
    });
    expect(published).toEqual([{ state: "included", reverted: false, ...BLOCK }]);
  });

  it("whose only receipt is that of a block which a reorg took away is included in the final block that has it", async () => {
    const candidate = await broadcast();
    const old = { ...receipt, blockNumber: 6n, blockHash: bytes(32, 66) };
    setChain(5n, 1n, old);
    addFinalBlock(4n, candidate.wrapperHash, candidate.innerHash);
    const blockAt = (height: bigint) => ({
      hash: bytes(32, Number(height)),
      transactions: height === 7n ? (nonceUses.get(4n)?.blockTransactions ?? []) : [],
    });
    const chain = {
      ...context.chain,
      receiptsByEach: async () => [old],
      blocks: async (heights: readonly bigint[]) => heights.map(blockAt),
      blockHashes: async (heights: readonly bigint[]) => heights.map((height) => blockAt(height).hash),
    } as unknown as NodeClient;
    const reorgs = { ...context, chain, options: { reorgDepth: 1 } };
    expect(await reconcile(lane, [candidate], reorgs, { asksEach: true })).toBe(false);
    expect(published).toEqual([]);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], reorgs, { asksEach: true });
    expect(published).toEqual([{ state: "included", reverted: false, ...BLOCK }]);
  });

  it("has no signs once it is in a block: after a reorg, two polls must show it as stuck, not one more", async () => {
    const candidate = await broadcast();
    const isFirst = () => context.entries.isFirst(candidate, "stuck");
    expect([isFirst(), isFirst()]).toEqual([true, false]);
    setChain(5n, 1n, receipt);
    await reconcile(lane, [candidate], context);
    expect([isFirst(), isFirst()]).toEqual([true, false]);
  });

  it("does not fail while its receipt is late, although the nonce has moved on", async () => {
    const candidate = await broadcast();
    setChain(5n, 1n);
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS - 1;
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "broadcast" });
    setChain(5n, 1n, { ...receipt, succeeded: false });
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(published).toEqual([{ state: "included", reverted: true, ...BLOCK }]);
  });

  it("is told as reverted when its cause is known, and stored before", async () => {
    const candidate = await broadcast();
    setChain(5n, 1n, { ...receipt, succeeded: false });
    const cause = deferred<ErrorValues>();
    const asked: RevertedSubmission[] = [];
    const revertCauses = {
      find: (reverted: RevertedSubmission) => {
        asked.push(reverted);
        return cause.promise;
      },
    };
    await reconcile(lane, [candidate], { ...context, revertCauses });
    expect(await stateOf(candidate.id)).toMatchObject({ state: "included", reverted: true });
    const { innerHash, sender } = candidate;
    expect(asked).toMatchObject([{ id: candidate.id, innerHash, sender, keyId: expect.any(String) }]);
    expect(published).toEqual([]);
    cause.resolve({ cause: "empty" });
    await vi.waitFor(() => expect(published).not.toEqual([]));
    expect(published).toEqual([{ state: "included", reverted: true, ...BLOCK, cause: { cause: "empty" } }]);
  });

  it("fails with NONCE_TOO_LOW if a final block shows its sender's nonce used by something else", async () => {
    const candidate = await broadcast();
    setChain(5n, 3n);
    await reconcile(lane, [candidate], context);
    expect(published).toEqual([]);
    nowMs += SEARCH_AFTER_MS;
    addFinalBlock(candidate.senderNonce);
    await reconcile(lane, [candidate], context);
    expect(published).toMatchObject([
      {
        state: "failed",
        reason: "NONCE_TOO_LOW",
        values: { usedBy: expect.stringMatching(/^0x/), blockNumber: expect.any(String) },
      },
    ]);
    expect(await stateOf(candidate.id)).toMatchObject({ ...published[0] });
  });

  it("stays broadcast where only nonces contradict it, and no block shows the transactions that used them", async () => {
    const candidate = await broadcast();
    setChain(5n, 3n);
    for (let i = 0; i < 10; i++) {
      await reconcile(lane, [candidate], context);
      nowMs += 100 * SEARCH_AFTER_MS;
    }
    expect(await stateOf(candidate.id)).toMatchObject({ state: "broadcast" });
    expect(published).toEqual([]);
  });

  it("waits for its receipt where a block shows the InnerTx itself", async () => {
    const candidate = await broadcast();
    setChain(5n, 3n);
    addFinalBlock(candidate.senderNonce, Uint8Array.from(candidate.innerHash));
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(published).toEqual([]);
    setChain(5n, 3n, receipt);
    await reconcile(lane, [candidate], context);
    expect(published).toEqual([{ state: "included", reverted: false, ...BLOCK }]);
  });

  it.each([
    { block: "its wrapper without its InnerTx stays, and its lane stops once", hasInner: false, stops: 1 },
    { block: "its wrapper and its InnerTx stays, and so does its lane", hasInner: true, stops: 0 },
  ])("whose final block has $block", async ({ hasInner, stops }) => {
    const candidate = await broadcast();
    const stopped = vi.fn();
    const lanes = async () => (await store.pool.query("select state, reason from lanes")).rows;
    setChain(5n, 0n);
    addFinalBlock(4n, candidate.wrapperHash, hasInner ? candidate.innerHash : undefined);
    for (let i = 0; i < 4; i++) {
      await reconcile(lane, [candidate], { ...context, onLaneStopped: stopped });
      nowMs += 10 * SEARCH_AFTER_MS;
    }
    expect(stopped).toHaveBeenCalledTimes(stops);
    const reason = expect.stringContaining("does not know waivers");
    expect(await lanes()).toMatchObject(hasInner ? [{ state: "open" }] : [{ state: "stopped", reason }]);
    // An operator who opens the lane again has been told.
    await setLaneState(store, lane.chain, lane.waiver, "open");
    await reconcile(lane, [candidate], context);
    expect(await lanes()).toMatchObject([{ state: "open" }]);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "broadcast" });
    expect(published).toEqual([]);
  });

  it("whose wrapper failed in a final block without its InnerTx is queued again for a pause that grows, and its lane goes on", async () => {
    // It was signed again for other reasons before.
    const candidate = { ...(await broadcast()), signings: 5, strikes: 1 };
    setChain(5n, 0n);
    addFinalBlock(4n, candidate.wrapperHash);
    wrapperReceipt = { ...receipt, succeeded: false };
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "queued" });
    const { rows } = await store.pool.query("select state, foreign_uses from lanes");
    expect(rows).toEqual([{ state: "open", foreign_uses: 0 }]);
    expect(published).toEqual([]);
    const paused = await store.pool.query(
      "select strikes from unfinished where look_at > now() + interval '5 seconds'",
    );
    expect(paused.rows, "each wrapper that fails in a block uses a nonce").toEqual([{ strikes: 1 }]);
  });

  it("is queued again by the block that shows its wrapper's nonce used, while no node tells whether it has a receipt", async () => {
    const candidate = await broadcast();
    setChain(5n, 0n, "unclear");
    addFinalBlock(4n);
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "queued" });
  });

  it("whose wrapper fails so after two that blocks left out, or show as failed, has failed", async () => {
    const candidate = { ...(await broadcast()), strikes: 2 };
    setChain(5n, 0n);
    addFinalBlock(4n, candidate.wrapperHash);
    wrapperReceipt = { ...receipt, succeeded: false };
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "failed" });
    const message = expect.stringMatching(
      /^the chain executed the wrapper 0x0202\S+ in block 7, where it failed/,
    );
    expect(published).toEqual([{ state: "failed", reason: "NODE_REFUSED", message, values: {} }]);
  });

  it.each([
    {
      block: "another wrapper of the lane",
      record: "that one",
      from: "the lane",
      hash: bytes(32, 98),
      nonce: "1",
    },
    {
      block: "a wrapper of somebody else",
      record: "no wrapper",
      from: "another",
      hash: bytes(32, 98),
      nonce: null,
    },
    { block: "its last wrapper", record: "that one", from: "the lane", hash: undefined, nonce: "4" },
  ])("signed twice, whose block has $block before it, has $record in its record", async (carrier) => {
    const candidate = { ...(await broadcast()), signings: 2 };
    const { innerHash, wrapperHash = bytes(32, 0) } = candidate;
    const { innerRaw: input } = newSubmissionOf(1);
    const hash = carrier.hash ?? wrapperHash;
    const from = carrier.from === "the lane" ? lane.waiver : bytes(20, 55);
    const wrapper = { hash, from, nonce: 1n, to: MARKER_ADDRESS, input };
    const inner = { ...wrapper, hash: innerHash, from: candidate.sender };
    const blocks = async () => [{ hash: receipt.blockHash, transactions: [wrapper, inner] }];
    setChain(5n, 1n, receipt);
    await reconcile(lane, [candidate], {
      ...context,
      chain: { ...context.chain, blocks } as unknown as NodeClient,
    });
    expect(published).toEqual([{ state: "included", reverted: false, ...BLOCK }]);
    const { rows } = await store.pool.query("select waiver_nonce, wrapper_hash from submissions");
    const wrapper_hash = carrier.nonce === null ? null : Buffer.from(hash);
    expect(rows).toEqual([{ waiver_nonce: carrier.nonce, wrapper_hash }]);
  });

  it("whose block the node does not show waits for it a while, and is included all the same", async () => {
    const candidate = { ...(await broadcast()), signings: 2 };
    const blocks = () => Promise.reject(new Error("the answer is too large"));
    setChain(5n, 1n, receipt);
    const reconcileOnce = () =>
      reconcile(lane, [candidate], {
        ...context,
        chain: { ...context.chain, blocks } as unknown as NodeClient,
      });
    await reconcileOnce();
    nowMs = PATIENCE_MS - 1;
    await reconcileOnce();
    expect(published).toEqual([]);
    nowMs = PATIENCE_MS;
    await reconcileOnce();
    expect(published).toEqual([{ state: "included", reverted: false, ...BLOCK }]);
  });

  it("needs no proof if it was never signed, but the word of each node that tells the nonce, twice", async () => {
    const id = await createSubmission("queued", store, lane, newSubmissionOf(1));
    const [row] = await findSubmissions(store, [id]);
    if (row === undefined) throw new Error("the submission is not in the store");
    setChain(0n, 3n);
    for (toldNonces of [[3n, 0n], [], [3n, 3n]])
      await reconcile(lane, [{ ...row, signings: 0, strikes: 0 }], context);
    expect(published).toEqual([]);
    await reconcile(lane, [{ ...row, signings: 0, strikes: 0 }], context);
    expect(published).toMatchObject([{ state: "failed", reason: "NONCE_TOO_LOW" }]);
  });

  it("is queued again if another wrapper has its nonce; the second time, the lane stops and names the nonces", async () => {
    const foreignUses = async () =>
      (await store.pool.query("select state, foreign_uses, reason from lanes where foreign_uses > 0")).rows;
    const candidate = await broadcast();
    setChain(5n, 0n);
    addFinalBlock(4n);
    addFinalBlock(5n);
    await reconcile(lane, [candidate], context);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [candidate], context);
    expect(await stateOf(candidate.id)).toMatchObject({ state: "queued" });
    expect(await foreignUses()).toMatchObject([{ state: "open", foreign_uses: 1 }]);
    // The same outcome counts once: the submission is queued already.
    await reconcile(lane, [candidate], context);
    expect(await foreignUses()).toMatchObject([{ state: "open", foreign_uses: 1 }]);

    await TRANSITION_TO.signed(store, lane, candidate.id, 5n);
    const [resigned] = await findInFlight(store, lane, { limit: 1 });
    if (resigned === undefined) throw new Error("nothing is in flight");
    setChain(6n, 0n);
    await reconcile(lane, [resigned], context);
    expect(await foreignUses()).toMatchObject([{ foreign_uses: 1 }]);
    nowMs += SEARCH_AFTER_MS;
    await reconcile(lane, [resigned], context);
    expect(await foreignUses()).toMatchObject([
      { state: "stopped", reason: expect.stringContaining("nonces 5 ") },
    ]);
    expect(published).toEqual([]);
  });
});
