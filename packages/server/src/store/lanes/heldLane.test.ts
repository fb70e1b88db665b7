import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../store.js";
import { stopForLostBlocks } from "./blocks/inclusions.js";
import { type HeldLane, LeaseLostError } from "./heldLane.js";
import { countForeignUse, retireDrained, setBreaker, setLaneState, stopWorkingLane } from "./setLaneState.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", (opened) => {
  store = opened;
});
beforeEach(async () => {
  await store.pool.query("truncate lanes");
  lane = await createHeldLane(store);
});

const CHANGES: Record<string, (by: HeldLane) => Promise<unknown>> = {
  "stop for lost blocks": (by) => stopForLostBlocks(store, by, 0n, "lost"),
  "stop for another reason": (by) => stopWorkingLane(store, by, "no"),
  "count of a foreign use": (by) =>
    countForeignUse(store, by, [{ waiverNonce: 1n, wrapperHash: new Uint8Array(32) }]),
  "breaker that opens": (by) => setBreaker(store, by, 60_000, "no"),
  retirement: (by) => retireDrained(store, by, false),
};
const laneRow = async () => (await store.pool.query("select * from lanes")).rows;

describe.each(Object.entries(CHANGES))("a change of the lane itself: the %s", (name, change) => {
  it("is written for the owner, and refused to one that was replaced", async () => {
    if (name === "retirement") await setLaneState(store, lane.chain, lane.waiver, "draining");
    await store.pool.query("update lanes set lease_until = '-infinity'");
    const next = await takeLease(store, { ...lane, owner: randomUUID() }, 60_000);
    if (next === undefined) throw new Error("nobody holds the lane");
    const before = await laneRow();
    await expect(change(lane)).rejects.toThrow(LeaseLostError);
    expect(await laneRow()).toEqual(before);
    await change(next.lane);
    expect(await laneRow()).not.toEqual(before);
  });
});

describe("a lane that an operator has stopped", () => {
  it("keeps its reason when its owner would stop it too", async () => {
    await setLaneState(store, lane.chain, lane.waiver, "stopped", "by hand");
    expect(await stopWorkingLane(store, lane, "no")).toBe(false);
    expect(await stopForLostBlocks(store, lane, 0n, "lost")).toBe(false);
    expect(await laneRow()).toMatchObject([{ state: "stopped", reason: "by hand" }]);
  });
});
