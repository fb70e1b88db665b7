import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  postpone,
} from "../../../../test/support/submissions.js";
import { useTestStore } from "../../../../test/support/testStore.js";
import { createLaneStatusCache } from "../../../lane/choose/directory.js";
import { accept } from "../../accept/accept.js";
import { Places } from "../../accept/places.js";
import type { Store } from "../../store.js";
import { moveQueuedWork } from "../../transitions/moveQueuedWork.js";
import type { HeldLane } from "../heldLane.js";
import { readLaneSnapshot } from "./laneSnapshot.js";

let store: Store;
let lane: HeldLane;
let places: Places;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  places = new Places(store.laneFloors);
  await readHeads();
});

const readHeads = () => createLaneStatusCache(store, lane.chain).refresh();

const OTHER = Buffer.alloc(20, 99);

/** Queues submissions of an API key in this order, each by user and nonce. */
async function queue(
  keyId: string,
  all: readonly (readonly [user: number, nonce: number])[],
): Promise<string[]> {
  const newSubmissions = all.map(([user, nonce]) => ({ ...newSubmissionOf(user, nonce), keyId }));
  await accept(store, { chain: lane.chain, origin: randomUUID(), places }, newSubmissions);
  return newSubmissions.map(({ id }) => id);
}

/** The queued submissions of the snapshot, in its order. */
async function chosenIds(limit: number): Promise<string[]> {
  const all = (await readLaneSnapshot(store, lane, { ready: limit, due: limit })).senders.flatMap(
    ({ queued }) => queued,
  );
  return all.sort((a, b) => a.position - b.position).map(({ id }) => id);
}

const flood = (count: number, of: (i: number) => readonly [number, number]) =>
  Array.from({ length: count }, (_, i) => of(i));

describe("the snapshot of a lane", () => {
  it.each([
    ["many users", (i: number) => [1 + i, 0] as const],
    ["one user", (i: number) => [1, i] as const],
    ["some users", (i: number) => [1 + (i % 7), Math.floor(i / 7)] as const],
  ])("has another key's single submission among the first, behind a flood of %s", async (_, of) => {
    await queue("flood", flood(500, of));
    const [single = ""] = await queue("single", [[900, 0]]);
    const ids = await chosenIds(100);
    expect(ids.indexOf(single)).toBeLessThan(2);
    expect(ids).toContain(single);
  });

  it("has another sender's submission among the first, behind a long row of one sender of the same key", async () => {
    const ids = await queue("key", [...flood(500, (i) => [1, i]), [900, 0]]);
    expect((await chosenIds(100)).indexOf(ids.at(-1) ?? "")).toBeLessThan(2);
  });

  it.each([
    ["in order", (i: number) => i],
    ["out of order", (i: number) => (i * 7) % 20],
  ])(
    "has a new sender's submission among the first, behind many requests of one sender, %s",
    async (_, requestAt) => {
      for (let i = 0; i < 20; i++) {
        const from = 25 * requestAt(i);
        await queue(
          "key",
          flood(25, (n) => [1, from + n]),
        );
      }
      const [single = ""] = await queue("key", [[900, 0]]);
      const ids = await chosenIds(501);
      expect(ids).toContain(single);
      expect(ids.indexOf(single)).toBeLessThan(2);
    },
  );

  it("has a new sender's submission among the first, also where a long row has waited for its missing nonce", async () => {
    const waiting = await queue(
      "key",
      flood(20, (i) => [1, 100 + i]),
    );
    await postpone(store, lane, waiting, 20_000);
    await queue(
      "key",
      flood(100, (i) => [1, i]),
    );
    const [single = ""] = await queue("key", [[900, 0]]);
    const ids = await chosenIds(101);
    expect(ids).toContain(single);
    expect(ids.indexOf(single)).toBeLessThan(2);
  });

  it("has a later request of a sender behind its earlier ones", async () => {
    await queue(
      "key",
      flood(500, (i) => [1, i]),
    );
    const ids = await queue("key", [
      [1, 500],
      [900, 0],
    ]);
    const first = await chosenIds(500);
    expect(first).toContain(ids[1]);
    expect(first).not.toContain(ids[0]);
  });

  it.each(["after a minute", "after a move from another lane"])(
    "has another key's single submission among the first, behind a flood %s",
    async (after) => {
      await queue(
        "flood",
        flood(500, (i) => [1 + (i % 7), Math.floor(i / 7)]),
      );
      if (after === "after a minute")
        await store.pool.query("update unfinished set look_at = look_at - interval '1 minute'");
      else {
        await store.pool.query("update unfinished set waiver = $1", [OTHER]);
        await moveQueuedWork(store, lane.chain, OTHER, lane.waiver, {
          limit: 1_000,
          withStruck: true,
          ofBusySenders: false,
        });
      }
      await readHeads();
      const [single = ""] = await queue("single", [[900, 0]]);
      expect((await chosenIds(100)).indexOf(single)).toBeLessThan(2);
    },
  );

  it("goes on in turns where the flood of a key has waited for long, and another begins", async () => {
    await queue(
      "old",
      flood(500, (i) => [1, i]),
    );
    await store.pool.query("update unfinished set look_at = look_at - interval '1 minute'");
    await readHeads();
    const ids = await queue(
      "new",
      flood(100, (i) => [2, i]),
    );
    const first = (await chosenIds(100)).slice(0, 100);
    expect(first.filter((id) => ids.includes(id))).toHaveLength(50);
  });

  it("counts what is ready and what is due apart, and chooses as much of each as it was asked to", async () => {
    const waiting = await queue(
      "key",
      flood(20, (i) => [1 + i, 1]),
    );
    await postpone(store, lane, waiting, 0);
    await queue(
      "key",
      flood(20, (i) => [101 + i, 0]),
    );
    const counts = async (ready: number, due: number) => {
      const snapshot = await readLaneSnapshot(store, lane, { ready, due });
      return [snapshot.ready, snapshot.due, snapshot.senders.length];
    };
    expect(await counts(30, 0)).toEqual([20, 0, 20]);
    expect(await counts(10, 5)).toEqual([10, 5, 15]);
  });

  it("gives several keys their turns", async () => {
    const keys = new Map<string, string>();
    for (const [i, key] of ["a", "b", "c"].entries()) {
      const ids = await queue(
        key,
        flood(50, (n) => [1 + i, n]),
      );
      for (const id of ids) keys.set(id, key);
    }
    const first = (await chosenIds(30)).slice(0, 30).map((id) => keys.get(id));
    for (const key of ["a", "b", "c"]) expect(first.filter((k) => k === key)).toHaveLength(10);
  });

  it("has each sender's submissions in the order of their nonces, whatever order they came in", async () => {
    await queue(
      "key",
      flood(40, (i) => [1 + (i % 3), (i * 17) % 40]),
    );
    for (const { queued: ofSender } of (await readLaneSnapshot(store, lane, { ready: 20, due: 20 }))
      .senders) {
      const inOrder = [...ofSender].sort((a, b) => Number(a.senderNonce - b.senderNonce));
      expect(ofSender).toEqual(inOrder);
      expect(ofSender.map(({ position }) => position)).toEqual(
        [...ofSender].map(({ position }) => position).sort((a, b) => a - b),
      );
    }
  });

  it("omits postponed submissions, unless another of their sender has come", async () => {
    const [early = ""] = await queue("key", [[1, 1]]);
    await postpone(store, lane, [early], 20_000);
    expect(await chosenIds(10)).toEqual([]);
    const [due = ""] = await queue("key", [[1, 0]]);
    expect(await chosenIds(10)).toEqual([due, early]);
  });

  it("is empty when nothing is queued", async () => {
    await createSubmission("included", store, lane, newSubmissionOf(1));
    expect((await readLaneSnapshot(store, lane, { ready: 10, due: 10 })).senders).toEqual([]);
  });
});
