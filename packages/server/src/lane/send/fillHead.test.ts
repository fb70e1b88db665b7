import { randomUUID } from "node:crypto";
import { bytesToHex } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { userAddress } from "../../../test/support/user.js";
import { accept } from "../../store/accept/accept.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { Store } from "../../store/store.js";
import { type FillContext, fillHead } from "./broadcaster.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("gives the nonce of a withdrawn head to a sender behind many whose earlier nonces are missing", async () => {
  const waiting = [1, 2, 3, 4].flatMap((user) => [1, 2].map((nonce) => newSubmissionOf(user, nonce)));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, waiting);
  await accept(store, { chain: lane.chain, origin: randomUUID() }, [newSubmissionOf(9)]);
  const fillers: InFlightSubmission[] = [];
  const base = assignContext(store);
  const context = {
    ...base,
    breaker: { succeed: async () => {} },
    broadcaster: {
      async sendFiller(_: HeldLane, filler: InFlightSubmission) {
        fillers.push(filler);
        return true;
      },
    },
  } as unknown as FillContext;
  base.headOfLine.observe({ block: 1n, waiverNonce: 0n, wrapperHash: new Uint8Array(32) });
  base.headOfLine.onWithdrawn();
  await fillHead(lane, context);
  expect(fillers.map(({ sender, waiverNonce }) => [bytesToHex(sender), waiverNonce])).toEqual([
    [userAddress(9), 0n],
  ]);
});
