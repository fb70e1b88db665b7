import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { optionsFor } from "../../test/support/testService.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { NodeClient } from "../chain/nodeClient.js";
import { resolveOptions } from "../model/resolveOptions.js";
import { accept } from "../store/accept/accept.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { readLaneSnapshot } from "../store/lanes/laneSnapshot.js";
import type { Store } from "../store/store.js";
import { excuseNonceGaps } from "./nonceGap.js";
import { planSender } from "./plan.js";

const options = resolveOptions(
  optionsFor("postgres://localhost/store", "http://localhost", { nonceGapTimeoutMs: 0 }),
);
let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it.each([
  ["excused if that nonce was included since the chain was asked", 1n, { early: 1, failed: 0 }],
  ["kept if that nonce is still missing", 0n, { early: 0, failed: 1 }],
])("a failure for a missing nonce is %s", async (_, now, expected) => {
  await accept(store, { chain: lane.chain, origin: randomUUID() }, [newSubmissionOf(1, 1)]);
  const { senders } = await readLaneSnapshot(store, lane, { ready: 1, due: 1 });
  // The plans were made when the sender's next nonce was 0.
  const plans = senders.map(({ queued, inFlightNonces }) => planSender(queued, 0n, inFlightNonces, 0));
  expect(plans[0]?.failed).toHaveLength(1);
  const chain: Pick<NodeClient, "nonces"> = { nonces: async () => [0n, now] };
  const [plan] = await excuseNonceGaps(lane, senders, plans, { store, chain: chain as NodeClient, options });
  expect({ early: plan?.early.length, failed: plan?.failed.length }).toEqual(expected);
});

it("a failure for a missing nonce is excused if that one was accepted while the chain was asked", async () => {
  const place = { chain: lane.chain, origin: randomUUID() };
  await accept(store, place, [newSubmissionOf(2, 1)]);
  const snapshot = await readLaneSnapshot(store, lane, { ready: 10, due: 10 });
  const senders = snapshot.senders.filter(
    ({ queued }) => queued.length === 1 && queued[0]?.senderNonce === 1n,
  );
  const plans = senders.map(({ queued, inFlightNonces }) => planSender(queued, 0n, inFlightNonces, 0));
  const chain: Pick<NodeClient, "nonces"> = {
    async nonces(addresses) {
      // The node is slow, and meanwhile the user sends what was missing.
      await accept(store, place, [newSubmissionOf(2, 0)]);
      return addresses.map(() => 0n);
    },
  };
  const excused = await excuseNonceGaps(lane, senders, plans, { store, chain: chain as NodeClient, options });
  const sender = newSubmissionOf(2, 0).sender;
  const index = senders.findIndex((one) => Buffer.from(one.sender).equals(Buffer.from(sender)));
  expect(excused[index]).toMatchObject({ failed: [], early: [{ senderNonce: 1n }] });
});
