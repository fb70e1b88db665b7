import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../accept/accept.js";
import type { HeldLane } from "../lanes/heldLane.js";
import { registerLanes } from "../lanes/lease.js";
import { readLaneSnapshot } from "../lanes/queue/laneSnapshot.js";
import type { Store } from "../store.js";
import { putOffQueued } from "./putOffQueued.js";
import { unparkNext } from "./unparkNext.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** Queues these nonces of one user, and returns the user. */
async function queue(nonces: readonly number[]): Promise<Uint8Array> {
  const all = nonces.map((nonce) => newSubmissionOf(1, nonce));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, all);
  return all[0]?.sender ?? new Uint8Array(20);
}

/** Parks what the sender has queued above this nonce. */
const park = (sender: Uint8Array, senderNonce: bigint) =>
  putOffQueued(store, lane, [{ sender, senderNonce }], { afterMs: 0 });

async function chosen(): Promise<(readonly [nonce: bigint, isWaiting: boolean])[]> {
  const { senders } = await readLaneSnapshot(store, lane, { ready: 10, due: 10 });
  return senders.flatMap(({ queued }) =>
    queued.map(({ senderNonce, isWaiting }) => [senderNonce, isWaiting] as const),
  );
}

it("a parked submission takes no turn, and is read with a lower nonce of its sender that is not parked", async () => {
  const sender = await queue([3, 4, 5]);
  await park(sender, 2n);
  expect(await chosen()).toEqual([]);
  await queue([2]);
  expect(await chosen()).toEqual([
    [2n, false],
    [3n, true],
    [4n, true],
    [5n, true],
  ]);
});

it("the lowest nonce of a sender has its turn again when it is unparked, and the sender's others are read with it", async () => {
  const sender = await queue([3, 4]);
  await park(sender, 2n);
  expect(await unparkNext(store, lane, [sender])).toHaveLength(1);
  expect(await chosen()).toEqual([
    [3n, false],
    [4n, true],
  ]);
  expect(await unparkNext(store, lane, [sender])).toEqual([]);
});

it("what was signed before comes again with the nonce before it, in whichever lane, but for what blocks have left out", async () => {
  const sender = await queue([3, 4, 5, 6]);
  await store.pool.query(
    "update unfinished set signings = 1, strikes = case when sender_nonce = 6 then 1 else 0 end",
  );
  await park(sender, 2n);
  const waiver = new Uint8Array(20).fill(2);
  await registerLanes(store, lane.chain, [waiver]);
  const lease = await takeLease(store, { chain: lane.chain, waiver, owner: randomUUID() }, 3_600_000);
  const elsewhere = lease?.lane ?? lane;
  expect(await unparkNext(store, elsewhere, [sender])).toHaveLength(3);
  const { senders } = await readLaneSnapshot(store, lane, { ready: 10, due: 10 });
  const all = senders.flatMap(({ queued }) => queued);
  expect(all.map(({ senderNonce, isSetAside }) => [senderNonce, isSetAside])).toEqual([
    [3n, false],
    [4n, false],
    [5n, false],
    [6n, true],
  ]);
});

it("submissions whose parking time is over are parked again", async () => {
  const sender = await queue([3, 4, 5]);
  await park(sender, 2n);
  await store.pool.query("update unfinished set look_at = now() - interval '1 second' where is_waiting");
  expect(await park(sender, 2n)).toBe(3);
  expect(await park(sender, 2n)).toBe(0);
});

it("the lowest of each sender comes again after its pause, and what waits alone parks nothing", async () => {
  const sender = await queue([3, 4, 5]);
  const waiting = [5n, 4n].map((senderNonce) => ({ sender, senderNonce }));
  const options = { afterMs: 1_000, alone: [{ sender, senderNonce: 3n }] };
  expect(await putOffQueued(store, lane, waiting, options)).toBe(3);
  const { rows } = await store.pool.query<{ ms: string }>(
    "select extract(epoch from look_at - now()) * 1000 as ms from unfinished order by sender_nonce",
  );
  expect(rows.map(({ ms }) => Math.ceil(Number(ms) / 1_000))).toEqual([1, 1, 30]);
});
