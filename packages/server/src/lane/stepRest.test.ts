// The rest after a step, on a real store.
import { expect, it } from "vitest";
import { assignContext } from "../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { accept } from "../store/accept/accept.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { Store } from "../store/store.js";
import { createLaneParties } from "./sign/plan.js";
import { IDLE_MS, initialState, type StepContext, step } from "./step.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("a step that takes an offer is followed at once by one that takes those that have come meanwhile", async () => {
  const base = assignContext(store);
  const { laneOffers } = base;
  let onSend: () => unknown = () => {};
  const context = {
    ...base,
    account: { address: lane.waiver },
    parties: createLaneParties(),
    routing: { ...base.routing, whyUnusable: () => undefined },
    breaker: { state: "closed" },
    broadcaster: { send: async () => onSend() },
    wake() {},
  } as unknown as StepContext;
  let state = { ...initialState(), mustResend: false };
  const next = async () => {
    const result = await step(state, { lane, state: "open" as const }, context);
    state = result.state;
    return result.restMs;
  };
  // From then on the lane knows its queue as empty.
  await accept(store, { chain: lane.chain, origin: lane.owner }, [newSubmissionOf(1)]);
  await next();
  await next();
  const first = laneOffers.offer([newSubmissionOf(2)]);
  let second: Promise<unknown> | undefined;
  onSend = () => (second ??= laneOffers.offer([newSubmissionOf(3)]));
  expect(await next()).toBe(0);
  expect(await next()).toBe(IDLE_MS);
  for (const offer of [first, second])
    expect(await offer).toMatchObject([{ kind: "accepted", isSigned: true }]);
});
