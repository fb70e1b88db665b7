import { afterEach, expect, it, vi } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { PATIENCE } from "../../model/patience.js";
import type { LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Store } from "../../store/store.js";
import { saveFinal } from "../../store/transitions/saveFinal.js";
import type { LookAgain } from "../../util/schedule.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { LaneWatch, type LaneWatchContext } from "./watchLane.js";

let store: Store;
useTestStore("shared", async (opened) => {
  store = opened;
});

afterEach(() => void vi.restoreAllMocks());

it("a lane without work asks a node once in fifteen intervals", async () => {
  const lane = await createHeldLane(store);
  await saveFinal(store, lane, [await createSubmission("included", store, lane, newSubmissionOf(1))]);
  let requests = 0;
  const chain = {
    nonces: async () => {
      requests++;
      return [1n];
    },
  };
  const looks: LookAgain[] = [];
  const schedule = {
    onError: () => {},
    look(lookAgain: LookAgain) {
      looks.push(lookAgain);
      return { wake: () => {}, start: () => {}, end: async () => {} };
    },
  };
  const context = {
    ...{ store, chain, schedule, log: silent, mode: "signs", nonceProofs: { isSearching: false } },
    options: { pollIntervalMs: 1_000, reorgDepth: 0, sweepIntervalMs: 600_000 },
    patience: PATIENCE,
  } as unknown as LaneWatchContext;
  let seconds = 0;
  vi.spyOn(performance, "now").mockImplementation(() => seconds * 1_000);
  const lease = { current: () => ({ lane, state: "open" as const, watchOnly: false }), forget: () => {} };
  const watch = new LaneWatch(lease as never, {} as Broadcaster, context);
  watch.onStatus({ inFlight: 0, hasUnfinalized: false, hasOpenWrapper: false } as LaneStatus);
  for (; seconds < 150; seconds++) for (const look of looks) await look();
  expect(requests).toBe(10);
});
