import { expect, it } from "vitest";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
} from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import { Entries } from "../law/entries.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { HeadOfLine } from "../send/head.js";
import { createWatcher, settleOverdue } from "./watch.js";

let store: Store;
useTestStore("emptied", async (opened) => {
  store = opened;
});

it("what blocks leave out goes to the other nodes as well: the first may lose what it takes", async () => {
  const lane = await createHeldLane(store);
  await createSubmission("broadcast", store, lane, newSubmissionOf(1));
  const sent: [to: string, nonces: bigint[]][] = [];
  const to = (node: string) => async (some: readonly Pick<InFlightSubmission, "waiverNonce">[]) => {
    sent.push([node, some.map(({ waiverNonce }) => waiverNonce)]);
  };
  let isLate = false;
  const context = {
    ...{ store, options: { resendAfterMs: 60_000 }, headOfLine: { takeLoss: () => isLate } },
    broadcastBuffer: { flush: async () => {} },
    chain: { nonces: async () => [0n], areIncluded: async () => [] },
  } as unknown as WatchContext;
  const send = to("first");
  const broadcaster = { send: (_, some) => send(some), sendToOthers: to("others") } as Pick<
    Broadcaster,
    "send" | "sendToOthers"
  > as Broadcaster;
  const settle = () => settleOverdue(lane, 0n, "signs", context, broadcaster);
  await settle();
  expect(sent).toEqual([]);
  isLate = true;
  await settle();
  expect(sent).toEqual([
    ["others", [0n]],
    ["first", [0n]],
  ]);
});

it("the lane's row is locked for its floor of nonces once in some hundred nonces, also while blocks are not final", async () => {
  const lane = await createHeldLane(store);
  await createSubmission("included", store, lane, newSubmissionOf(2), 10n);
  await createSubmission("broadcast", store, lane, newSubmissionOf(3), 100_000n);
  let waiverNonce = 1_000n;
  let raises = 0;
  const query = (...[statement, values]: Parameters<Store["pool"]["query"]>) => {
    const text = typeof statement === "string" ? statement : statement.text;
    if (text.includes("raise_nonce_floor")) raises++;
    return store.pool.query(statement, values);
  };
  const context = {
    store: { ...store, pool: { query } },
    options: { resendAfterMs: 60_000, reorgDepth: 64 },
    ...{ headOfLine: new HeadOfLine(), entries: new Entries() },
    broadcastBuffer: { unstored: () => new Set() },
    routing: { whyUnusable: () => undefined },
    chain: {
      ...{ blockNumber: async () => 20n, nonces: async () => [waiverNonce] },
      blockHashes: async (heights: readonly bigint[]) => heights.map(() => bytes(32, 4)),
    },
  } as unknown as WatchContext;
  const watcher = createWatcher(context, {} as Broadcaster);
  for (; waiverNonce < 2_000n; waiverNonce += 50n) await watcher.poll(lane, "silent");
  expect(raises).toBe(2);
});
