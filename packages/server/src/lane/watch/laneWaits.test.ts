import { expect, it } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { createLog } from "../../model/telemetry/log.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import { createLaneWaits } from "./laneWaits.js";

let store: Store;
let held: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  held = await createHeldLane(store);
});

const causeInStore = async () =>
  (await store.pool.query<{ waits_cause: string | null }>("select waits_cause from lanes")).rows[0]
    ?.waits_cause;

it("tells what a lane waits for once it has waited for five seconds, although the cause has changed meanwhile", async () => {
  let time = 0;
  const waits = createLaneWaits({ store, log: createLog("silent") }, () => time);
  const note = async (at: number, cause?: "nodes" | "head") => {
    time = at;
    await waits.note(held, cause && { cause, sentence: `the ${cause}` });
    return await causeInStore();
  };
  expect(await note(0, "nodes")).toBeNull();
  expect(await note(4_000, "head")).toBeNull();
  expect(await note(5_000, "head")).toBe("head");
  expect(await note(6_000, "nodes")).toBe("nodes");
  expect(await note(7_000)).toBeNull();
  expect(await note(8_000, "nodes")).toBeNull();
});

it("takes back what the lane's owner before has told", async () => {
  const create = () => createLaneWaits({ store, log: createLog("silent") });
  await create().note(held, { cause: "jam", sentence: "a nonce is held" });
  expect(await causeInStore()).toBe("jam");
  await create().note(held, undefined);
  expect(await causeInStore()).toBeNull();
});
