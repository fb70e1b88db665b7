// What one key asks for, and does not get, is in nobody's way.
import { expect, it } from "vitest";
import { callerOf, LIMITS } from "../../test/support/callers.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { createAdmission } from "./admission.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

it("a flood of one key, refused for its share, takes no other key's room, and is let in when it fits", async () => {
  const admission = createAdmission({ store, options: { queueCapacity: 100 }, chainRef: 1 });
  const limits = { ...LIMITS, queueShare: 0.5 };
  const flooding = callerOf("flooding", { limits });
  // All of them while the store is asked.
  const single = admission.admit(callerOf("single", { limits }), 50);
  const flood = Array.from({ length: 20 }, () => admission.admit(flooding, 50));
  const outcomes = await Promise.allSettled(flood);
  (await single)();
  const admitted = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expect(admitted).toHaveLength(1);
  admitted[0]?.();
  // What has left counts until the store was asked anew; then it is seen that nothing waits.
  (await admission.admit(flooding, 50))();
});
