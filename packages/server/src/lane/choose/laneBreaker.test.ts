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
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

function breakerOf(hasOtherLane: boolean, now?: () => number) {
  const routing = { hasOtherLane: () => hasOtherLane } as unknown as LaneDependencies["routing"];
  const lease = { current: () => ({ lane, state: "open" as const }) };
  return createLaneBreaker(lane.waiver, { store, log: silent, routing, lease }, now);
}
const isBroken = async () => (await findLaneStatuses(store, lane.chain))[0]?.broken;

describe("a lane of which no node takes what it sends", () => {
  it("rests from the third exchange on, until a node takes something", async () => {
    const breaker = breakerOf(true);
    await breaker.avoid("silence");
    await breaker.avoid("silence");
    expect(await isBroken()).toBe(false);
    expect(breaker.state).toBe("closed");
    await breaker.avoid("silence");
    expect(await isBroken()).toBe(true);
    expect(breaker.state).toBe("open");
    await breaker.succeed();
    expect(await isBroken()).toBe(false);
    expect(breaker.state).toBe("closed");
  });

  it("goes on taking new work where no other lane takes any", async () => {
    const breaker = breakerOf(false);
    for (let i = 0; i < 5; i++) await breaker.avoid("silence");
    expect(await isBroken()).toBe(false);
    expect(breaker.state).toBe("closed");
  });
});

describe("a lane whose key fails", () => {
  /** A breaker on a clock that only the test moves. */
  const onClock = () => {
    const clock = { ms: 5_000 };
    const breaker = breakerOf(true, () => clock.ms);
    return { breaker, pass: (ms: number) => (clock.ms += ms) };
  };

  it("takes nothing for a while, and then probes, not a millisecond before", async () => {
    const { breaker, pass } = onClock();
    await breaker.open("no such key");
    expect([breaker.state, await isBroken()]).toEqual(["open", true]);
    pass(999);
    expect(breaker.state).toBe("open");
    pass(1);
    expect(breaker.state).toBe("probing");
    await breaker.succeed();
    expect([breaker.state, await isBroken()]).toEqual(["closed", false]);
  });

  it("rests twice as long with each probe that fails, up to half a minute, and begins anew once one succeeds", async () => {
    const { breaker, pass } = onClock();
    const rests = async (fail: () => Promise<void>) => {
      await fail();
      let ms = 0;
      for (; breaker.state === "open"; ms += 1_000) pass(1_000);
      return ms;
    };
    const found = [await rests(() => breaker.open("no such key"))];
    for (let i = 0; i < 6; i++) found.push(await rests(() => breaker.avoid("silence")));
    expect(found).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await breaker.succeed();
    expect(await rests(() => breaker.open("no such key"))).toBe(1_000);
  });

  it("rests as long as it was to, although old wrappers fail again meanwhile", async () => {
    const { breaker, pass } = onClock();
    await breaker.open("no such key");
    pass(999);
    await breaker.open("no such key");
    await breaker.avoid("silence");
    pass(1);
    expect(breaker.state).toBe("probing");
  });
});
