import { randomUUID } from "node:crypto";
import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
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
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** Gives the nonce of a withdrawn head away. @returns the senders that get it, and the nonces. */
async function filled(base = assignContext(store)) {
  const fillers: InFlightSubmission[] = [];
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
  return fillers.map(({ sender, waiverNonce }) => [bytesToHex(sender), waiverNonce]);
}

const accepted = (...submissions: Parameters<typeof newSubmissionOf>[]) =>
  accept(
    store,
    { chain: lane.chain, origin: randomUUID() },
    submissions.map((one) => newSubmissionOf(...one)),
  );

it("gives the nonce of a withdrawn head to a sender behind many whose earlier nonces are missing", async () => {
  await accepted(...[1, 2, 3, 4].flatMap((user) => [1, 2].map((nonce): [number, number] => [user, nonce])));
  await accepted([9]);
  expect(await filled()).toEqual([[userAddress(9), 0n]]);
});

it("gives it to a sender of whom a block has had a wrapper, rather than to others before", async () => {
  await accepted([1], [2], [3], [9]);
  const base = assignContext(store);
  base.strikes.prove(hexToBytes(userAddress(9)));
  expect(await filled(base)).toEqual([[userAddress(9), 0n]]);
});
