// Refused requests of one API key take no room in the queue from other keys.
import { expect, it } from "vitest";
import { callerOf, LIMITS } from "../../test/support/callers.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { createAdmission } from "./admission.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

it("a key that floods the queue beyond its share takes no other key's room, and is admitted when it fits", async () => {
  const admission = createAdmission({ store, options: { queueCapacity: 100 }, chainRef: 1 });
  const limits = { ...LIMITS, queueShare: 0.5 };
  const flooding = callerOf("flooding", { limits });
  // All requests come while the store is being counted.
  const single = admission.admit(callerOf("single", { limits }), 50);
  const flood = Array.from({ length: 20 }, () => admission.admit(flooding, 50));
  const outcomes = await Promise.allSettled(flood);
  (await single)();
  const admitted = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expect(admitted).toHaveLength(1);
  admitted[0]?.();
  // Transactions that were done count until the store is counted again, which finds an empty queue.
  (await admission.admit(flooding, 50))();
});
