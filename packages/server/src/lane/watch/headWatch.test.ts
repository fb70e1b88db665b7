import { expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import { createStrikes, createStruckTurn } from "../law/strikes.js";
import { HeadOfLine } from "../send/head.js";
import { createHeadWatch } from "./headWatch.js";

let store: Store;
useTestStore("emptied", async (opened) => {
  store = opened;
});

/** Polls once a block while a wrapper of the sender's nonce 1 is next, and stops at the poll that queues its submission. */
async function pollsUntilQueued(senderNonce: bigint) {
  const lane = await createHeldLane(store);
  const submission = newSubmissionOf(1, 1);
  await createSubmission("broadcast", store, lane, submission);
  const { sender } = submission;
  const strikes = createStrikes();
  const context = {
    store,
    chain: { nonces: async () => [senderNonce], head: async () => ({ room: undefined }) },
    ...{ strikes, struckTurn: createStruckTurn(), headOfLine: new HeadOfLine(() => 0), log: silent },
    broadcastBuffer: { unstored: () => new Set() },
    routing: { whyUnusable: () => undefined },
  };
  const headWatch = createHeadWatch(context as unknown as WatchContext);
  for (let polls = 1; polls < 9; polls++) {
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
    const { rows } = await store.pool.query<{ state: string }>("select state from unfinished");
    if (rows[0]?.state === "queued") return { polls, isStruck: strikes.isStruck({ sender, keyId: "" }) };
  }
  return undefined;
}

it("a late head that two polls show as dead is withdrawn, and strikes its sender", async () => {
  expect(await pollsUntilQueued(2n)).toEqual({ polls: 3, isStruck: true });
});

it("a late head behind a missing nonce of its sender is withdrawn as soon, and strikes nobody", async () => {
  expect(await pollsUntilQueued(0n)).toEqual({ polls: 3, isStruck: false });
});
