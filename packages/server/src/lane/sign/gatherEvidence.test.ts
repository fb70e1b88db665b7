import { randomUUID } from "node:crypto";
import { bytesEqual } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../../store/accept/accept.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import type { LaneContext } from "../context.js";
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

describe("an assignment of a lane whose sends no node answers", () => {
  it("signs what no other lane may carry, and what follows the sender's own in flight, and nothing else", async () => {
    const queue = async (...ones: readonly (readonly [user: number, nonce: number])[]) => {
      const added = ones.map(([user, nonce]) => newSubmissionOf(user, nonce));
      await accept(store, { chain: lane.chain, origin: randomUUID() }, added);
      return added;
    };
    const context = assignContext(store);
    const options = { limit: 100, due: 0 };
    await queue([1, 0]);
    expect((await assign(lane, options, context)).signed).toHaveLength(1);
    const [following, alone, shared] = await queue([1, 1], [2, 0], [3, 0]);
    const hasOtherCarrier = (_waiver: Uint8Array, innerRaw: Uint8Array) =>
      alone === undefined || !bytesEqual(innerRaw, alone.innerRaw);
    const avoided = { ...context, routing: { ...context.routing, hasOtherCarrier } } as LaneContext;
    const idsOf = async (isAvoided: boolean) =>
      (await assign(lane, { ...options, isAvoided }, avoided)).signed.map(({ id }) => id).sort();
    expect(await idsOf(true)).toEqual([following?.id, alone?.id].sort());
    expect(await idsOf(false)).toEqual([shared?.id]);
  });
});
