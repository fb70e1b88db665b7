// Steps after something has freed a nonce that was taken.
import { expect, it } from "vitest";
import { assignContext } from "../../test/support/assignContext.js";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { SendAnswer } from "../chain/evidence.js";
import { accept } from "../store/accept/accept.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findInFlight } from "../store/lanes/queue/unfinished.js";
import type { Store } from "../store/store.js";
import { failSubmissions } from "./law/reconcile.js";
import { applyAnswers, type ExchangeContext } from "./send/applyAnswers.js";
import { assign } from "./sign/assign.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

type Context = ReturnType<typeof assignContext>;

/** Accepts a user's first transaction on the replica of the lane. @returns its id. */
async function acceptFor({ laneMemory }: Context, user: number): Promise<string> {
  const submission = newSubmissionOf(user);
  await accept(store, { chain: lane.chain, origin: lane.owner }, [submission]);
  laneMemory.forget();
  return submission.id;
}

/** Takes a step. @returns the waiver nonces that it gave. */
async function noncesOfStep(context: Context): Promise<bigint[]> {
  const { signed } = await assign(lane, { limit: 10, due: 0 }, context);
  return signed.map(({ waiverNonce }) => waiverNonce);
}

/** A lane with two submissions in flight, of the waiver nonces 0 and 1. */
async function withTwoInFlight(): Promise<{ readonly context: Context; readonly first: string }> {
  const context = assignContext(store);
  const first = await acceptFor(context, 1);
  await acceptFor(context, 2);
  expect(await noncesOfStep(context)).toEqual([0n, 1n]);
  return { context, first };
}

const REFUSAL = { reason: "TARGET_NOT_ALLOWED", message: "no" } as const;

it("fills the nonce of a submission that has failed", async () => {
  const { context, first } = await withTwoInFlight();
  await failSubmissions(lane, [{ id: first, ...REFUSAL, condition: "always" }], context);
  await acceptFor(context, 3);
  expect(await noncesOfStep(context)).toEqual([0n]);
});

it("fills the nonce of a refused submission, also after a step that read the store before the refusal was stored", async () => {
  const { context } = await withTwoInFlight();
  const [refused] = await findInFlight(store, lane, { limit: 1 });
  if (refused === undefined) throw new Error("nothing is in flight");
  let isStepDue = true;
  const query = async (statement: string) => {
    if (isStepDue) {
      isStepDue = false;
      expect(await noncesOfStep(context)).toEqual([]);
    }
    return store.pool.query(statement);
  };
  const senderGaps = { note() {}, findBlocked: async () => new Set<string>() };
  const answer = { verdict: { kind: "refused", ...REFUSAL }, delivery: "only" } as SendAnswer;
  const exchange = {
    ...context,
    store: Object.create(store, { pool: { value: { query } } }) as Store,
    metrics: { ...context.metrics, sent() {} },
    broadcastBuffer: { ...context.broadcastBuffer, add() {} },
    senderGaps,
    breaker: { succeed: async () => {}, open: async () => {}, avoid: async () => {} },
  };
  await applyAnswers(lane, [{ submission: refused, answer }], exchange as unknown as ExchangeContext);
  await acceptFor(context, 3);
  expect(await noncesOfStep(context)).toEqual([0n]);
});

it("fills a gap below the nonces of a full lane, which nothing else would end", async () => {
  const context = assignContext(store);
  const full = { ...context, options: { ...context.options, maxInFlight: 2 } };
  await createSubmission("signed", store, lane, newSubmissionOf(1), 2n);
  await createSubmission("signed", store, lane, newSubmissionOf(2), 3n);
  await acceptFor(full, 3);
  const steps = [await noncesOfStep(full), await noncesOfStep(full)];
  expect(steps).toEqual([[], [0n, 1n]]);
});
