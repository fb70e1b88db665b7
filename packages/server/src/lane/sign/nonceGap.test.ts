import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { accept } from "../../store/accept/accept.js";
import type { Queryable } from "../../store/database/database.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { readLaneSnapshot } from "../../store/lanes/queue/laneSnapshot.js";
import { createStoreMoves } from "../../store/primary/moves.js";
import type { Store } from "../../store/store.js";
import { planSender } from "./plan.js";
import { excuseNonceGaps } from "./waiting.js";

const noncesByEach = async (senders: readonly Uint8Array[]) => senders.map(() => [0n]);
const chain = { blockNumber: async () => 0n, noncesByEach } as NodeClient;
let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("a failure for a missing nonce is kept while nothing has that nonce", async () => {
  await accept(store, { chain: lane.chain, origin: randomUUID() }, [newSubmissionOf(1, 1)]);
  const { senders } = await readLaneSnapshot(store, lane, { ready: 1, due: 1 });
  const plans = senders.map(({ queued, inFlightNonces }) => planSender(queued, 0n, inFlightNonces, 0));
  const [plan] = await excuseNonceGaps(lane, senders, plans, { store, chain });
  expect(plan).toMatchObject({ early: [], failed: [{ missing: 0n }] });
});

it.each([
  ["one of the nodes tells it as used", [0n, 1n]],
  ["no node tells any", []],
])("a failure for a missing nonce is excused where %s", async (_, told) => {
  const { senders } = await readLaneSnapshot(store, lane, { ready: 1, due: 1 });
  const plans = senders.map(({ queued, inFlightNonces }) => planSender(queued, 0n, inFlightNonces, 0));
  const telling = { ...chain, noncesByEach: async () => [told] } as unknown as NodeClient;
  const [plan] = await excuseNonceGaps(lane, senders, plans, { store, chain: telling });
  expect(plan).toMatchObject({ early: [{ senderNonce: 1n }], failed: [] });
});

it("a failure for a missing nonce is excused if that one was accepted while the chain was asked", async () => {
  const place = { chain: lane.chain, origin: randomUUID() };
  await accept(store, place, [newSubmissionOf(2, 1)]);
  const snapshot = await readLaneSnapshot(store, lane, { ready: 10, due: 10 });
  const senders = snapshot.senders.filter(
    ({ queued }) => queued.length === 1 && queued[0]?.senderNonce === 1n,
  );
  const plans = senders.map(({ queued, inFlightNonces }) => planSender(queued, 0n, inFlightNonces, 0));
  // The node was slow, and meanwhile the user has sent what was missing.
  await accept(store, place, [newSubmissionOf(2, 0)]);
  const excused = await excuseNonceGaps(lane, senders, plans, { store, chain });
  const sender = newSubmissionOf(2, 0).sender;
  const index = senders.findIndex((one) => Buffer.from(one.sender).equals(Buffer.from(sender)));
  expect(excused[index]).toMatchObject({ failed: [], early: [{ senderNonce: 1n }] });
});

it("a failure for a missing nonce is excused after a failover until the chain has had twenty blocks", async () => {
  await accept(store, { chain: lane.chain, origin: randomUUID() }, [newSubmissionOf(3, 1)]);
  const snapshot = await readLaneSnapshot(store, lane, { ready: 20, due: 20 });
  const plans = snapshot.senders.map(({ queued, inFlightNonces }) =>
    planSender(queued, 0n, inFlightNonces, 0),
  );
  const heights = [7n, 26n, 27n];
  let height = 0n;
  const moved: Store = {
    ...store,
    moves: createStoreMoves({ query: store.pool.query.bind(store.pool) } as Queryable, silent, store.clock),
  };
  await store.pool.query(
    "insert into database_servers (system, timeline, first_seen) select system, 0, now() - interval '1 year' from database_servers",
  );
  const failed = [];
  for (height of heights) {
    const excused = await excuseNonceGaps(lane, snapshot.senders, plans, {
      store: moved,
      chain: { blockNumber: async () => height, noncesByEach } as NodeClient,
    });
    failed.push(excused.some((plan) => plan.failed.length > 0));
  }
  expect(failed).toEqual([false, false, true]);
});
