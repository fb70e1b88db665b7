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
useTestStore("emptied", async (opened) => {
  store = opened;
});

it("tells at once what a node has accepted, before anybody is asked about another's unclear answer", async () => {
  const lane = await createHeldLane(store);
  for (const user of [1, 2])
    await createSubmission("signed", store, lane, newSubmissionOf(user), BigInt(user - 1));
  const inFlight = await findInFlight(store, lane);
  const told: string[] = [];
  const toldWhenAsked = await new Promise((resolve) => {
    const context = {
      ...assignContext(store),
      chain: {
        snapshot() {
          resolve([...told]);
          return new Promise(() => {});
        },
      },
      metrics: { sent() {} },
      senderGaps: { findBlocked: async () => new Set<string>() },
      broadcastBuffer: {
        add: (_: HeldLane, taken: readonly { id: string }[]) => told.push(...taken.map(({ id }) => id)),
      },
    } as unknown as ExchangeContext;
    const verdicts = [{ kind: "already known", message: "" }, { kind: "accepted" }];
    const answered = inFlight.map((submission, i) => {
      return {
        submission,
        answer: { verdict: verdicts[i], delivery: "only", isAnswered: true } as SendAnswer,
      };
    });
    void applyAnswers(lane, answered, context);
  });
  expect(toldWhenAsked).toEqual([inFlight[1]?.id]);
});
