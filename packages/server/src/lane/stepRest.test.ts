// The rest after a step, on a real store. No offer waits for the end of the room that the lane leaves for others.
import { expect, it } from "vitest";
import { assignContext } from "../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { accept } from "../store/accept/accept.js";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { createLaneParties } from "./laneParties.js";
import { initialState, type StepContext, step } from "./step.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("a step that owes others their turn, and leaves room after it, declines at once what it cannot take next", async () => {
  const base = assignContext(store);
  const { acceptedWork, laneOffers } = base;
  let onSend = () => {};
  const context = {
    ...base,
    account: { address: lane.waiver },
    parties: createLaneParties(),
    routing: { ...base.routing, whyUnusable: () => undefined },
    breaker: { state: "closed", isOpenedByPolicy: false },
    broadcaster: { retries: { mostNow: 0, isRetry: () => false }, send: async () => onSend() },
    wake() {},
  } as unknown as StepContext;
  const lease = { lane, state: "open" as const };
  const queue = async (...all: NewSubmission[]) => {
    await accept(store, { chain: lane.chain, origin: lane.owner }, all);
    for (const one of all) acceptedWork.add(lane.waiver, one);
  };
  // Nothing is due to be looked at again, so that only what is queued here counts.
  let state = { ...initialState(), mustResend: false, dueAt: Number.POSITIVE_INFINITY };
  const next = async () => {
    const result = await step(state, lease, context);
    state = { ...result.state, dueAt: Number.POSITIVE_INFINITY };
    return result;
  };

  await queue(newSubmissionOf(1), newSubmissionOf(2));
  await next();
  await next();
  const taken = laneOffers.offer([newSubmissionOf(3)]);
  await queue(...Array.from({ length: 40 }, (_, i) => newSubmissionOf(4, i)));
  let waiting: Promise<unknown> | undefined;
  onSend = () => {
    onSend = () => {};
    waiting = laneOffers.offer([newSubmissionOf(5)]);
  };
  expect(await next()).toMatchObject({ restMs: 0, state: { owesStep: true } });
  expect(await taken).toMatchObject([{ kind: "accepted", isSigned: true }]);
  expect(laneOffers.has(lane.waiver)).toBe(true);
  // It leaves a queue behind, which only the store knows.
  expect((await next()).restMs).toBeGreaterThan(0);
  expect(laneOffers.has(lane.waiver)).toBe(false);
  expect(await waiting).toBeUndefined();
});
