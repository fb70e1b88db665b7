// The rest after a step, on a real store.
import { describe, expect, it } from "vitest";
import { assignContext } from "../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { accept } from "../store/accept/accept.js";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { createLaneParties } from "./sign/plan.js";
import { initialState, type StepContext, step } from "./step.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** A lane that knows its queue as empty, and a way to take its steps. */
async function readyLane() {
  const base = assignContext(store);
  const { laneOffers } = base;
  let onSend = () => {};
  const context = {
    ...base,
    account: { address: lane.waiver },
    parties: createLaneParties(),
    routing: { ...base.routing, whyUnusable: () => undefined },
    breaker: { state: "closed", followPolicy: async () => {} },
    broadcaster: { retries: { mostNow: 0, isRetry: () => false }, send: async () => onSend() },
    wake() {},
  } as unknown as StepContext;
  const lease = { lane, state: "open" as const };
  const queue = (...all: NewSubmission[]) => accept(store, { chain: lane.chain, origin: lane.owner }, all);
  // Paused work is looked for when the test says so.
  let state = { ...initialState(), mustResend: false };
  const next = async (isDue = false) => {
    const dueAt = isDue ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    const result = await step({ ...state, dueAt }, lease, context);
    state = result.state;
    return result;
  };

  await queue(newSubmissionOf(1), newSubmissionOf(2));
  await next();
  await next();
  /** Takes a step with an offer while another offer comes. The next step is owed to paused work. */
  const owe = async (...queued: NewSubmission[]) => {
    const taken = laneOffers.offer([newSubmissionOf(3)]);
    await queue(...queued);
    let waiting: Promise<unknown> | undefined;
    onSend = () => {
      onSend = () => {};
      waiting = laneOffers.offer([newSubmissionOf(5)]);
    };
    expect(await next(true)).toMatchObject({ restMs: 0, state: { owesStep: true } });
    expect(await taken).toMatchObject(SIGNED);
    expect(laneOffers.isEmpty).toBe(false);
    return { waiting };
  };
  return { next, owe, hasOffers: () => !laneOffers.isEmpty };
}

const SIGNED = [{ kind: "accepted", isSigned: true }];

describe("a step that owes paused work a look", () => {
  it("does not rest before it takes a waiting offer, where it leaves nothing else behind", async () => {
    const { next, owe, hasOffers } = await readyLane();
    const { waiting } = await owe(newSubmissionOf(4));
    expect((await next()).restMs).toBe(0);
    await next();
    expect(hasOffers()).toBe(false);
    expect(await waiting).toMatchObject(SIGNED);
  });

  it("declines a waiting offer at once, where it leaves a queue that only the store knows", async () => {
    const { next, owe, hasOffers } = await readyLane();
    const { waiting } = await owe(...Array.from({ length: 40 }, (_, i) => newSubmissionOf(4, i)));
    expect((await next()).restMs).toBe(0);
    expect(hasOffers()).toBe(false);
    expect(await waiting).toBeUndefined();
  });
});
