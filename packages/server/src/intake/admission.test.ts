// What one key asks for, and does not get, is in nobody's way.
import { afterAll, beforeAll, expect, it } from "vitest";
import { callerOf, LIMITS } from "../../test/support/callers.js";
import { TestPostgres } from "../../test/support/testPostgres.js";
import type { Store } from "../store/store.js";
import { createAdmission } from "./admission.js";

let postgres: TestPostgres;
let store: Store;
beforeAll(async () => {
  postgres = await TestPostgres.start();
  store = await postgres.openStore();
});
afterAll(async () => {
  await store?.close();
  await postgres?.end();
});

it("a flood of one key, refused for its share, takes no other key's room, and is let in when it fits", async () => {
  const admission = createAdmission({ store, options: { queueCapacity: 100 }, chainRef: 1 });
  const limits = { ...LIMITS, queueShare: 0.5 };
  const flooding = callerOf("flooding", { limits });
  // All of them while the store is asked.
  const single = admission.enter(callerOf("single", { limits }), 50);
  const flood = Array.from({ length: 20 }, () => admission.enter(flooding, 50));
  const outcomes = await Promise.allSettled(flood);
  (await single)();
  const admitted = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expect(admitted).toHaveLength(1);
  admitted[0]?.();
  // What has left counts until the store was asked anew; then it is seen that nothing waits.
  (await admission.enter(flooding, 50))();
});
