import { describe, expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { HeldLane } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
import { expireQueued, findOverdueQueued } from "./expireQueued.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

describe("a submission that is queued for longer than maxQueueMs", () => {
  const since = new Date(0);
  const overdue = (changes = {}) =>
    findOverdueQueued(store, lane.chain, {
      ...{ maxQueueMs: 60_000, before: new Date(Date.now() - 60_000), since, limit: 10 },
      ...changes,
    });

  it("is found only while it is queued, and says whether it was accepted since a moment", async () => {
    const queued = await createSubmission("queued", store, lane, newSubmissionOf(1));
    await createSubmission("signed", store, lane, newSubmissionOf(2), 0n);
    await createSubmission("broadcast", store, lane, newSubmissionOf(3), 1n);
    await createSubmission("included", store, lane, newSubmissionOf(4), 2n);
    expect(await overdue()).toEqual([]);
    await store.pool.query("update unfinished set accepted_at = now() - interval '2 minutes'");
    await createSubmission("queued", store, lane, newSubmissionOf(5));
    expect(await overdue()).toMatchObject([{ id: queued, recent: true }]);
    expect(await overdue({ since: new Date() })).toMatchObject([{ id: queued, recent: false }]);
  });

  it("is not found by the database's clock alone, which may have stepped", async () => {
    await createSubmission("queued", store, lane, newSubmissionOf(1));
    await store.pool.query("update unfinished set accepted_at = now() - interval '2 minutes'");
    expect(await overdue({ before: new Date(Date.now() - 180_000) })).toEqual([]);
    await store.pool.query("update unfinished set accepted_at = now() - interval '30 seconds'");
    expect(await overdue({ before: new Date(Date.now() + 60_000) })).toEqual([]);
  });

  it("fails as NOT_BROADCAST if it is still queued, and is returned with its replica", async () => {
    const queued = await createSubmission("queued", store, lane, newSubmissionOf(1));
    const signed = await createSubmission("signed", store, lane, newSubmissionOf(2), 0n);
    const expired = await expireQueued(store, [queued, signed], 60_000);
    expect(expired).toMatchObject([{ id: queued, origin: lane.owner }]);
    const found = await findSubmissions(store, [queued, signed]);
    expect(found.find(({ id }) => id === queued)).toMatchObject({ reason: "NOT_BROADCAST" });
    expect(new Map(found.map(({ id, state }) => [id, state]))).toEqual(
      new Map([
        [queued, "failed"],
        [signed, "signed"],
      ]),
    );
  });
});
