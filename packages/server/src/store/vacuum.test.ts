import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { accept } from "./accept/accept.js";
import type { Store } from "./store.js";
import { saveFailed } from "./transitions/saveFailed.js";
import { vacuumUnfinished } from "./vacuum.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

it("vacuums unfinished rows as soon as many of them are dead, and tells that an open transaction keeps them", async () => {
  const lane = await createHeldLane(store);
  const newSubmissions = Array.from({ length: 30 }, (_, i) => newSubmissionOf(i + 1));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, newSubmissions);
  const reader = await store.pool.connect();
  await reader.query("begin isolation level repeatable read; select from unfinished");
  const failed = newSubmissions.map(({ id }) => ({
    id,
    reason: "NODE_REFUSED" as const,
    message: "no",
    condition: "always" as const,
  }));
  await saveFailed(store, lane, failed);
  // PostgreSQL counts dead rows a moment later, unless a session asks for it.
  await store.pool.query("select pg_stat_force_next_flush()");
  expect(await vacuumUnfinished(store, 31)).toBe("none");
  expect(await vacuumUnfinished(store, 30)).toBe("kept");
  await reader.query("commit");
  reader.release();
  expect(await vacuumUnfinished(store, 30)).toBe("removed");
  expect(await vacuumUnfinished(store, 1)).toBe("none");
});
