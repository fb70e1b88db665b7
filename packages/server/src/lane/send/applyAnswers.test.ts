import { expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { SendAnswer } from "../../chain/evidence.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight } from "../../store/lanes/queue/unfinished.js";
import type { Store } from "../../store/store.js";
import { applyAnswers, type ExchangeContext } from "./applyAnswers.js";

let store: Store;
let lane: HeldLane;
let told: string[];
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  told = [];
});

type Verdict = SendAnswer["verdict"];

/** Applies the answers of nodes to the wrappers of the lane, in the order of their nonces. */
async function apply(verdicts: readonly Verdict[], parts: Record<string, unknown> = {}): Promise<void> {
  const context = {
    ...assignContext(store),
    ...{ metrics: { sent() {} }, breaker: { avoid: async () => {}, succeed: async () => {} } },
    senderGaps: { findBlocked: async () => new Set<string>(), note() {} },
    broadcastBuffer: {
      add: (_: HeldLane, taken: readonly { id: string }[]) => told.push(...taken.map(({ id }) => id)),
    },
    ...parts,
  } as unknown as ExchangeContext;
  const inFlight = await findInFlight(store, lane);
  const answered = inFlight.map((submission, i) => {
    const answer = { verdict: verdicts[i], delivery: "only", isAnswered: true } as SendAnswer;
    return { submission, answer };
  });
  await applyAnswers(lane, answered, context);
}

it("tells at once what a node has accepted, before anybody is asked about another's unclear answer", async () => {
  const ids = [];
  for (const user of [1, 2])
    ids.push(await createSubmission("signed", store, lane, newSubmissionOf(user), BigInt(user - 1)));
  const toldWhenAsked = await new Promise((resolve) => {
    const snapshot = () => {
      resolve([...told]);
      return new Promise(() => {});
    };
    void apply([{ kind: "already known", message: "" }, { kind: "accepted" }], { chain: { snapshot } });
  });
  expect(toldWhenAsked).toEqual([ids[1]]);
});

it("tells nothing of a wrapper behind one of its sender of which nobody knows whether a node has it", async () => {
  for (const nonce of [0, 1])
    await createSubmission("signed", store, lane, newSubmissionOf(1, nonce), BigInt(nonce));
  const answers: Verdict[] = [{ kind: "ambiguous", message: "no answer" }, { kind: "accepted" }];
  await expect(apply(answers)).rejects.toThrow("2 wrapper(s) were not broadcast");
  expect(told).toEqual([]);
});

it("moves a wrapper whose nonce another has in the pool, where a nonce below is free that would never be filled", async () => {
  await createSubmission("signed", store, lane, newSubmissionOf(1), 5n);
  const occupied = { kind: "occupied", message: "replacement transaction underpriced" } as const;
  await apply([occupied], { chain: { nonces: async () => [3n] } });
  expect(await findInFlight(store, lane)).toEqual([]);
});
