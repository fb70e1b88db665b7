import { describe, expect, it } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findLaneStatuses } from "../../store/lanes/laneStatus.js";
import type { Store } from "../../store/store.js";
import type { LaneDependencies } from "../context.js";
import { createLaneBreaker } from "./laneBreaker.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

function breakerOf(hasOtherLane: boolean) {
  const routing = { hasOtherLane: () => hasOtherLane } as unknown as LaneDependencies["routing"];
  const lease = { current: () => ({ lane, state: "open" as const }) };
  return createLaneBreaker(lane.waiver, { store, log: silent, routing, lease });
}
const isBroken = async () => (await findLaneStatuses(store, lane.chain))[0]?.broken;

describe("a lane to whose sends no node answers", () => {
  it("is avoided from the third exchange on, until a node takes something", async () => {
    const breaker = breakerOf(true);
    await breaker.noAnswer("silence");
    await breaker.noAnswer("silence");
    expect(await isBroken()).toBe(false);
    expect(breaker.isAvoided).toBe(false);
    await breaker.noAnswer("silence");
    expect(await isBroken()).toBe(true);
    expect(breaker.isAvoided).toBe(true);
    expect(breaker.state, "it goes on trying").toBe("closed");
    await breaker.succeed();
    expect(await isBroken()).toBe(false);
    expect(breaker.isAvoided).toBe(false);
  });

  it("goes on taking new work where no other lane takes any", async () => {
    const breaker = breakerOf(false);
    for (let i = 0; i < 5; i++) await breaker.noAnswer("silence");
    expect(await isBroken()).toBe(false);
    expect(breaker.isAvoided).toBe(false);
  });
});
