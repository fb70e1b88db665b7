import { stat } from "node:fs";
import { describe, expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { accept } from "../../store/accept/accept.js";
import { StoreUnavailableError, troubleNamed } from "../../store/database/storeTrouble.js";
import { inTransaction } from "../../store/database/transaction.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import type { LaneContext } from "../context.js";
import { acceptOffered } from "./acceptOffered.js";
import { assign } from "./assign.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

type Nonces = (addresses: readonly Uint8Array[]) => Promise<bigint[]>;

/** A lane after a step that has found its queue empty. */
async function knownLane(nonces?: Nonces, at: Store = store) {
  const context = assignContext(at, nonces);
  await assign(lane, { limit: 10, due: 0 }, context);
  return context;
}

/** Holds up this process for 50 ms. Resolves with what the operating system has answered meanwhile, which is read after the timers. */
const heldUp = () =>
  new Promise((resolve) => {
    setImmediate(() => {
      stat(".", resolve);
      const end = performance.now() + 50;
      while (performance.now() < end);
    });
  });

/** A step that takes offers. @returns the waiver nonces; undefined if all was declined. */
const takeOffers = async (context: LaneContext) =>
  (await acceptOffered(lane, context))?.map(({ waiverNonce }) => waiverNonce);

const states = async () =>
  (
    await store.pool.query<{ text: string }>(
      "select state || coalesce(' ' || waiver_nonce, '') as text from unfinished order by waiver_nonce",
    )
  ).rows.map(({ text }) => text);

describe("offers to a lane that knows its queue as empty", () => {
  it("are accepted and signed above the nonces in flight, one step after the other", async () => {
    const context = await knownLane();
    for (const [step, users] of [[1, 2], [3]].entries()) {
      const answers = users.map((user) => context.laneOffers.offer([newSubmissionOf(user)]));
      expect(await takeOffers(context)).toEqual(step === 0 ? [0n, 1n] : [2n]);
      for (const answer of await Promise.all(answers))
        expect(answer).toMatchObject([{ kind: "accepted", isSigned: true }]);
    }
    expect(await states()).toEqual(["signed 0", "signed 1", "signed 2"]);
  });

  it("go on where steps have signed what was accepted before, and the other way round", async () => {
    const context = await knownLane();
    void context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toEqual([0n]);
    const queued = newSubmissionOf(2);
    await accept(store, { chain: lane.chain, origin: lane.owner }, [queued]);
    const { signed } = await assign(lane, { limit: 10, due: 0 }, context);
    expect(signed.map(({ waiverNonce }) => waiverNonce)).toEqual([1n]);
    void context.laneOffers.offer([newSubmissionOf(3)]);
    expect(await takeOffers(context)).toEqual([2n]);
  });

  it("are declined one by one where a nonce is not the sender's next", async () => {
    const context = await knownLane();
    const answers = [newSubmissionOf(1), newSubmissionOf(2, 1)].map((one) => context.laneOffers.offer([one]));
    expect(await takeOffers(context)).toEqual([0n]);
    expect(await Promise.all(answers)).toMatchObject([[{ kind: "accepted" }], undefined]);
    expect(await states()).toEqual(["signed 0"]);
  });

  it("are declined where the sender has something in flight, whose nonce the chain does not count yet", async () => {
    const context = await knownLane();
    void context.laneOffers.offer([newSubmissionOf(1)]);
    await takeOffers(context);
    const answer = context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toBeUndefined();
    expect(await answer).toBeUndefined();
  });

  it("are declined where the waiver may not carry them any more", async () => {
    const context = await knownLane();
    const routing = { policiesDiffer: () => true, carrierOf: () => "later" };
    const answer = context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers({ ...context, routing } as unknown as LaneContext)).toBeUndefined();
    expect(await answer).toBeUndefined();
  });

  it("wait for a reading of the queue where something has come into it, and are declined if something stays there", async () => {
    const context = await knownLane();
    context.laneMemory.forget();
    void context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toBeUndefined();
    await assign(lane, { limit: 10, due: 0 }, context);
    expect(await takeOffers(context)).toEqual([0n]);
    context.laneMemory.forget();
    const declined = context.laneOffers.offer([newSubmissionOf(2)]);
    await accept(store, { chain: lane.chain, origin: lane.owner }, [newSubmissionOf(3, 1)]);
    await assign(lane, { limit: 10, due: 0 }, context);
    expect(await declined).toBeUndefined();
  });

  it("wait for the next reading where something has come while a step read, instead of coming into the queue too", async () => {
    const context = await knownLane();
    const reading = assign(lane, { limit: 10, due: 0 }, context);
    context.laneMemory.forget();
    await reading;
    void context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toBeUndefined();
    await assign(lane, { limit: 10, due: 0 }, context);
    void context.laneOffers.offer([newSubmissionOf(2)]);
    expect(await takeOffers(context)).toEqual([0n, 1n]);
  });

  it("do not wait for a node that hangs: accepting needs none", async () => {
    let hangs = false;
    const context = await knownLane(async (addresses) =>
      hangs ? await new Promise<never>(() => {}) : addresses.map(() => 0n),
    );
    hangs = true;
    const answer = context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toBeUndefined();
    expect(await answer).toBeUndefined();
    // A node that stays slow would cost each of the next tests as much time.
    hangs = false;
    await assign(lane, { limit: 10, due: 0 }, context);
    expect(await context.laneOffers.offer([newSubmissionOf(1)])).toBeUndefined();
  });

  it("are taken where the node's answer came in time, and this process was held up", async () => {
    let isHeldUp = false;
    const context = await knownLane(async (addresses) => {
      if (isHeldUp) await heldUp();
      return addresses.map(() => 0n);
    });
    isHeldUp = true;
    void context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toEqual([0n]);
  });

  it("are declined where a node answers with an error, whatever its words", async () => {
    let fails = false;
    const context = await knownLane(async (addresses) => {
      if (fails) throw new RpcUnavailableError("the node answered HTTP 504: 504 Gateway Timeout", "unknown");
      return addresses.map(() => 0n);
    });
    fails = true;
    const answer = context.laneOffers.offer([newSubmissionOf(1)]);
    expect(await takeOffers(context)).toBeUndefined();
    expect(await answer).toBeUndefined();
  });

  it("are declined while somebody has accepted one of them in a transaction that is open, which holds up no lease", async () => {
    const context = await knownLane();
    await inTransaction(store, async (pool) => {
      await accept({ pool }, { chain: lane.chain, origin: lane.owner }, [newSubmissionOf(1)]);
      const answer = context.laneOffers.offer([newSubmissionOf(1)]);
      expect(await takeOffers(context)).toBeUndefined();
      expect(await answer).toBeUndefined();
      await store.pool.query("update lanes set lease_until = lease_until");
    });
  });

  it("are declined, and the step fails, where another owner has the lane", async () => {
    const context = await knownLane();
    await store.pool.query("update lanes set epoch = epoch + 1");
    const second = context.laneOffers.offer([newSubmissionOf(1)]);
    await expect(takeOffers(context)).rejects.toThrow("another owner has it");
    expect(await second).toBeUndefined();
    expect(await states()).toEqual([]);
  });

  it("fail where the answer to the write is lost: they may be accepted", async () => {
    let isAway = false;
    const query = async (...args: Parameters<Store["pool"]["query"]>) => {
      const answer = await store.pool.query(...args);
      if (isAway) throw new StoreUnavailableError(troubleNamed("unreachable"));
      return answer;
    };
    const context = await knownLane(undefined, { ...store, pool: { query } } as unknown as Store);
    isAway = true;
    const answer = context.laneOffers.offer([newSubmissionOf(1)]);
    answer.catch(() => {});
    await expect(takeOffers(context)).rejects.toThrow(StoreUnavailableError);
    await expect(answer).rejects.toThrow(StoreUnavailableError);
    expect(await states()).toEqual(["signed 0"]);
  });
});
