// Refused requests of one API key take no room in the queue from other keys.
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { callerOf, LIMITS } from "../../test/support/callers.js";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Caller } from "../model/keys/caller.js";
import { accept } from "../store/accept/accept.js";
import { queueLengths } from "../store/accept/queueLengths.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { Admission } from "./admission.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("a key that floods the queue beyond its share takes no other key's room, and is admitted when it fits", async () => {
  const admission = new Admission({ store, options: { queueCapacity: 100 }, chainRef: 1 });
  const limits = { ...LIMITS, queueShare: 0.5 };
  const flooding = callerOf("flooding", { limits });
  // All requests come while the store is being counted.
  const single = admission.admit(callerOf("single", { limits }), 50);
  const flood = Array.from({ length: 20 }, () => admission.admit(flooding, 50));
  const outcomes = await Promise.allSettled(flood);
  (await single).leaveAll();
  const admitted = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expect(admitted).toHaveLength(1);
  admitted[0]?.leaveAll();
  // Transactions that were done count until the store is counted again, which finds an empty queue.
  (await admission.admit(flooding, 50)).leaveAll();
});

it("counts each transaction once while its request is being accepted", async () => {
  const admission = new Admission({ store, options: { queueCapacity: 100 }, chainRef: lane.chain });
  const limits = { ...LIMITS, queueShare: 0.5 };
  const large = await admission.admit(callerOf("key", { limits }), 40);
  const slice = Array.from({ length: 20 }, (_, i) => newSubmissionOf(i + 1));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, slice);
  large.leave(slice.length);
  // 20 are in the store and 20 are on their way, of a share of 50.
  const small = await admission.admit(callerOf("key", { limits }), 10);
  await expect(admission.admit(callerOf("key", { limits }), 1)).rejects.toMatchObject({
    reason: "KEY_SHARE_EXHAUSTED",
  });
  large.leaveAll();
  small.leaveAll();
});

it("keeps half of the queue for secret keys, also before publishable ones of several replicas", async () => {
  const publishable = { origins: ["wallets"], addressRate: { ratePerSecond: 1, rateBurst: 1 } };
  const limits = { ...LIMITS, queueShare: 0.5 };
  const [first, second] = ["0000000000000001", "0000000000000002"].map((id) =>
    callerOf(id, { limits, publishable }),
  );
  await store.pool.query(
    "insert into api_keys (id, env, label, secret_hash, terms, version) values ($1, 'test', 'a page', $2, $3, 1)",
    [first?.keyId, Buffer.alloc(32, 1), { origins: ["wallets"] }],
  );
  const queued = Array.from({ length: 30 }, (_, i) => ({
    ...newSubmissionOf(100 + i),
    keyId: first?.keyId ?? "",
  }));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, queued);
  // This replica has not seen the first key.
  const admission = new Admission({ store, options: { queueCapacity: 100 }, chainRef: lane.chain });
  const before = [...(await queueLengths(store, lane.chain))].reduce((sum, one) => sum + one.queued, 0);
  await admission.admit(second as Caller, 20);
  await expect(admission.admit(second as Caller, 1)).rejects.toMatchObject({ reason: "KEY_SHARE_EXHAUSTED" });
  await admission.admit(callerOf("secret", { limits }), 100 - before - 20);
});
