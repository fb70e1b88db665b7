import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../../store/accept/accept.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import { assign } from "./assign.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("gives a sender's later nonce no lower waiver nonce, whatever the order in which they came", async () => {
  const context = assignContext(store);
  const ids = [];
  for (const nonce of [2, 0, 1]) {
    const one = newSubmissionOf(1, nonce);
    await accept(store, { chain: lane.chain, origin: randomUUID() }, [one]);
    ids[nonce] = one.id;
  }
  const { signed } = await assign(lane, { limit: 100, due: 0 }, context);
  expect(signed.map(({ id, waiverNonce }) => `${id} ${waiverNonce}`)).toEqual(
    ids.map((id, i) => `${id} ${i}`),
  );
});
