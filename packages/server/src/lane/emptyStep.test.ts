import { privateKeyAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { assignContext } from "../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { queryUntil } from "../../test/support/testSessions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { WAIVER_KEY } from "../../test/support/user.js";
import { accept } from "../store/accept/accept.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/queue/unfinished.js";
import type { Store } from "../store/store.js";
import { createLaneParties } from "./sign/plan.js";
import { IDLE_MS, initialState, type StepContext, step } from "./step.js";

let store: Store;
let lane: HeldLane;
let databaseUrl: string;
useTestStore("emptied", async (opened, url) => {
  databaseUrl = url;
  store = opened;
  lane = await createHeldLane(store);
});

/** An open lane whose node never answers what it sends. */
function sendingLane() {
  const sent: (readonly InFlightSubmission[])[] = [];
  const context = {
    ...assignContext(store),
    account: privateKeyAccount(WAIVER_KEY),
    routing: { policiesDiffer: () => false, whyUnusable: () => undefined },
    breaker: { state: "closed" },
    parties: createLaneParties(),
    broadcaster: {
      send(_: HeldLane, signed: readonly InFlightSubmission[]) {
        sent.push(signed);
        return new Promise<void>(() => {});
      },
    },
    wake() {},
  } as unknown as StepContext;
  return { sent, context };
}

const acceptOne = (user: number) =>
  accept(store, { chain: lane.chain, origin: lane.owner }, [newSubmissionOf(user)]);

describe("a step that has nothing to sign", () => {
  it("does not wait for the batch on the wire, so that the next one may sign", async () => {
    const { context, sent } = sendingLane();
    const lease = { lane, state: "open" } as const;
    await acceptOne(1);
    const first = await step({ ...initialState(), mustResend: false }, lease, context);
    const empty = await step(first.state, lease, context);
    expect(empty).toMatchObject({ restMs: IDLE_MS, hasInFlight: true });
    expect(empty.state.broadcasting).toBe(first.state.broadcasting);
    await acceptOne(2);
    // It waits with the broadcast, not with the signature.
    void step(empty.state, lease, context);
    await queryUntil(
      databaseUrl,
      "select from unfinished having count(*) filter (where state = 'signed') = 2",
    );
    expect(sent).toHaveLength(1);
  });

  it("fails if that batch has failed", async () => {
    const { context } = sendingLane();
    const broadcasting = Promise.reject(new Error("no answer"));
    broadcasting.catch(() => {});
    const state = { ...initialState(), mustResend: false, broadcasting };
    await expect(step(state, { lane, state: "open" }, context)).rejects.toThrow("no answer");
  });
});
