import { randomUUID } from "node:crypto";
import { bytesEqual } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { bytes, createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../../store/accept/accept.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import type { LaneContext } from "../context.js";
import { assign } from "./assign.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

describe("an assignment of a lane that knows its queue as empty", () => {
  /**
   * The context of a lane after a step that found nothing, this replica's accepted work, and the number of readings.
   */
  async function known(nonces?: () => Promise<bigint[]>) {
    const readings: string[] = [];
    const pool = {
      query: (statement: string | { readonly text: string }, values?: never) => {
        const text = typeof statement === "string" ? statement : statement.text;
        if (text.includes("left join (queue q")) readings.push("queue");
        return store.pool.query(statement as never, values);
      },
    };
    const context = assignContext({ ...store, pool } as unknown as Store, nonces);
    const { acceptedWork } = context;
    const acceptHere = async (user: number, nonce = 0) => {
      const one = newSubmissionOf(user, nonce);
      acceptedWork.prepare([one]);
      await accept(store, { chain: lane.chain, origin: randomUUID() }, [one]);
      acceptedWork.add(one.waiver, one);
      return one;
    };
    await assign(lane, options, context);
    readings.length = 0;
    return { acceptHere, context, readings };
  }

  /** The context of such a lane whose node does not answer any more, with an accepted submission. */
  async function knownWithoutNode() {
    let answers = true;
    const { acceptHere, context } = await known(async () => {
      if (!answers) throw new Error("no node answers");
      return [0n, 0n];
    });
    answers = false;
    await acceptHere(1);
    return context;
  }

  const options = { limit: 100, due: 0 };
  const idsOf = ({ signed }: { signed: readonly { id: string; waiverNonce: bigint }[] }) =>
    signed.map(({ id, waiverNonce }) => `${id} ${waiverNonce}`);

  it("signs what this replica has accepted without reading the queue, one step after the other", async () => {
    const { acceptHere, context, readings } = await known();
    for (const nonce of [0, 1, 2]) {
      const one = await acceptHere(nonce + 1);
      expect(idsOf(await assign(lane, options, context))).toEqual([`${one.id} ${nonce}`]);
    }
    expect(readings).toEqual([]);
  });

  it("gives a sender's later nonce no lower waiver nonce, whatever the order in which they came", async () => {
    const { acceptHere, context, readings } = await known();
    const [third, first, second] = [await acceptHere(1, 2), await acceptHere(1, 0), await acceptHere(1, 1)];
    const signed = idsOf(await assign(lane, options, context));
    expect(signed).toEqual([`${first.id} 0`, `${second.id} 1`, `${third.id} 2`]);
    expect(readings).toEqual([]);
  });

  it("signs nothing that has left the lane, or was signed and came back since it was accepted", async () => {
    const { acceptHere, context } = await known();
    const [moved, signedBefore] = [await acceptHere(1), await acceptHere(2)];
    await store.pool.query("update unfinished set waiver = $2 where id = $1", [moved.id, bytes(20, 9)]);
    await store.pool.query("update unfinished set signings = 1 where id = $1", [signedBefore.id]);
    expect(idsOf(await assign(lane, options, context))).toEqual([]);
    // Now the store is read.
    expect(idsOf(await assign(lane, options, context))).toEqual([`${signedBefore.id} 0`]);
  });

  it("reads the queue where a sender is ahead of its turn", async () => {
    const { acceptHere, context, readings } = await known();
    const one = await acceptHere(1);
    await acceptHere(2, 1);
    expect(idsOf(await assign(lane, options, context))).toEqual([`${one.id} 0`]);
    expect(readings).toEqual(["queue"]);
  });

  it("reads the queue in a step that is to read those whose pause is over", async () => {
    const { acceptHere, context, readings } = await known();
    const one = await acceptHere(1);
    expect(idsOf(await assign(lane, { ...options, due: 4 }, context))).toEqual([`${one.id} 0`]);
    expect(readings).toEqual(["queue"]);
  });

  it("leaves no rejection behind where the node fails while the store is written", async () => {
    const context = await knownWithoutNode();
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    const routing = { policiesDiffer: () => true, carrierOf: () => "later" };
    try {
      const assigning = assign(lane, options, { ...context, routing } as unknown as LaneContext);
      await expect(assigning).rejects.toThrow("no node answers");
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it("fails where no node tells the nonces, and leaves no rejection behind", async () => {
    const context = await knownWithoutNode();
    await expect(assign(lane, options, context)).rejects.toThrow("no node answers");
  });
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
