import { randomUUID } from "node:crypto";
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createHeldLane } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { WAIVER } from "../../../test/support/user.js";
import type { Store } from "../store.js";
import type { HeldLane } from "./heldLane.js";
import { releaseLease, takeLease } from "./lease.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

describe("the lease of a lane", () => {
  const waiver = hexToBytes(WAIVER);
  const other = () => ({ chain: lane.chain, waiver, owner: randomUUID() });
  /** Sets the end of the lease, relative to the database's clock. */
  const leaseEndsIn = (text: string) =>
    store.pool.query("update lanes set lease_until = now() + $1::interval", [text]);

  it("belongs to its owner until it ends", async () => {
    await leaseEndsIn("1 minute");
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
    await leaseEndsIn("-1 millisecond");
    expect(await takeLease(store, other(), 60_000)).toMatchObject({ lane: { epoch: lane.epoch + 1n } });
  });

  it("is renewed by its owner under the same epoch, also after it has ended", async () => {
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
    await leaseEndsIn("-1 minute");
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
  });

  it("goes to exactly one of many replicas that ask for it", async () => {
    await leaseEndsIn("-1 minute");
    const leases = await Promise.all(Array.from({ length: 8 }, () => takeLease(store, other(), 60_000)));
    expect(leases.filter((held) => held !== undefined)).toHaveLength(1);
  });

  it("cannot be released by a replica that has lost it", async () => {
    await leaseEndsIn("-1 minute");
    await takeLease(store, other(), 60_000);
    await releaseLease(store, lane);
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
  });
});
