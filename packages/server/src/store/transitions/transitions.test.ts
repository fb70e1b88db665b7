import { randomUUID } from "node:crypto";
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { applicantOf, bytes, laneIn, STEPS, submissionIn } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { WAIVER } from "../../../test/support/user.js";
import { type SubmissionState, TRANSITIONS } from "../../model/submission.js";
import { type HeldLane, LeaseLostError } from "../lanes/heldLane.js";
import { releaseLease, takeLease } from "../lanes/lease.js";
import { findAssignedNonces } from "../lanes/waiverNonces.js";
import { findWithdrawnWrappers, forgetWithdrawnWrappers } from "../lanes/withdrawnWrappers.js";
import type { Store } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
import { postponeQueued } from "./postponeQueued.js";
import { saveIncluded } from "./saveIncluded.js";
import { saveReorged } from "./saveReorged.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await laneIn(store);
});

const STATES = Object.keys(TRANSITIONS) as SubmissionState[];

/** The whole row, to see whether anything of it changed. */
async function rowOf(id: string): Promise<unknown> {
  return (await store.pool.query("select * from submissions where id = $1", [id])).rows[0];
}

describe("a step of a submission", () => {
  it("changes the row exactly where the transition table allows it, for every state and step", async () => {
    let user = 0;
    for (const from of STATES) {
      for (const to of STATES) {
        user++;
        const id = await submissionIn(from, store, lane, applicantOf(user), BigInt(user));
        const before = await rowOf(id);
        // Taken again by the node: the one step that stays in its state.
        const allowed =
          ((TRANSITIONS[from] as readonly string[]).includes(to) &&
            !(from === "included" && to === "queued")) ||
          (from === "broadcast" && to === "broadcast");
        const changed = await STEPS[to](store, lane, id, BigInt(user));
        expect([from, to, changed]).toEqual([from, to, allowed ? [id] : []]);
        const [after] = await findSubmissions(store, [id]);
        expect([from, to, after?.state]).toEqual([from, to, allowed ? to : from]);
        if (!allowed) expect(await rowOf(id)).toEqual(before);
      }
    }
  });

  it("writes nothing, whatever it is, once the lane has another owner", async () => {
    const ids = new Map<SubmissionState, string>();
    for (const [i, state] of STATES.entries()) {
      ids.set(state, await submissionIn(state, store, lane, applicantOf(i + 1), BigInt(i)));
    }
    await releaseLease(store, lane);
    const next = await takeLease(store, { ...lane, owner: randomUUID() }, 60_000);
    expect(next?.lane.epoch).toBe(lane.epoch + 1n);
    for (const [state, id] of ids) {
      const before = await rowOf(id);
      for (const to of STATES) {
        await expect(STEPS[to](store, lane, id, 99n)).rejects.toThrow(LeaseLostError);
      }
      await expect(postponeQueued(store, lane, [id], 0)).rejects.toThrow(LeaseLostError);
      expect([state, await rowOf(id)]).toEqual([state, before]);
    }
  });

  it("frees the waiver's nonce with every way back or out, and never gives one to two", async () => {
    const first = await submissionIn("broadcast", store, lane, applicantOf(1), 0n);
    const second = await submissionIn("queued", store, lane, applicantOf(2));
    await expect(STEPS.signed(store, lane, second, 0n)).rejects.toThrow(/unfinished_by_waiver_nonce/);
    await STEPS.queued(store, lane, first);
    expect(await STEPS.signed(store, lane, second, 0n)).toEqual([second]);
    expect(await findAssignedNonces(store, lane)).toMatchObject([{ id: second, waiverNonce: 0n }]);
    await STEPS.failed(store, lane, second);
    expect(await STEPS.signed(store, lane, first, 0n)).toEqual([first]);
  });
});

describe("a block that goes away", () => {
  const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n, reverted: false };

  it("gives back what our wrapper carried as broadcast, what another's did as queued, and nothing that is final", async () => {
    const ours = await submissionIn("included", store, lane, applicantOf(1), 1n);
    const others = await submissionIn("broadcast", store, lane, applicantOf(2), 2n);
    const unsigned = await submissionIn("queued", store, lane, applicantOf(3));
    const included = [others, unsigned].map((id) => ({ id, ...block, foreign: true }));
    await saveIncluded(store, lane, included, false);
    const final = await submissionIn("queued", store, lane, applicantOf(4));
    await saveIncluded(store, lane, [{ id: final, ...block, foreign: true }], true);
    const ids = [ours, others, unsigned, final];
    expect(await saveReorged(store, lane, ids)).toHaveLength(3);
    const states = new Map((await findSubmissions(store, ids)).map(({ id, state }) => [id, state]));
    expect(ids.map((id) => states.get(id))).toEqual(["broadcast", "queued", "queued", "included"]);
    expect(await findAssignedNonces(store, lane)).toMatchObject([{ id: ours, waiverNonce: 1n }]);
  });
});

describe("a submission that another wrapper carried", () => {
  const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n, reverted: false };
  const none = { id: "", ...block, foreign: false };

  it("leaves its own wrapper behind as withdrawn, whether its block is final or not", async () => {
    const [first, second, third] = [
      await submissionIn("broadcast", store, lane, applicantOf(1), 4n),
      await submissionIn("signed", store, lane, applicantOf(2), 5n),
      await submissionIn("broadcast", store, lane, applicantOf(3), 6n),
    ];
    await saveIncluded(store, lane, [{ ...none, id: first, foreign: true }], false);
    await saveIncluded(
      store,
      lane,
      [
        { ...none, id: second, foreign: true },
        { ...none, id: third },
      ],
      true,
    );
    const withdrawn = await findWithdrawnWrappers(store, lane, [4n, 5n, 6n]);
    expect(withdrawn.map(({ waiverNonce }) => waiverNonce).sort()).toEqual([4n, 5n]);
  });

  it("is remembered until its nonce is used on the chain, and nothing below it is under way", async () => {
    const ids = [
      await submissionIn("broadcast", store, lane, applicantOf(1), 4n),
      await submissionIn("broadcast", store, lane, applicantOf(2), 5n),
    ];
    await submissionIn("broadcast", store, lane, applicantOf(3), 6n);
    await saveIncluded(
      store,
      lane,
      ids.map((id) => ({ ...none, id, foreign: true })),
      true,
    );
    const left = async (chainNonce: bigint) => {
      await forgetWithdrawnWrappers(store, lane, chainNonce);
      return (await findWithdrawnWrappers(store, lane, [4n, 5n])).map(({ waiverNonce }) => waiverNonce);
    };
    expect([await left(4n), await left(5n), await left(6n)]).toEqual([[4n, 5n], [5n], []]);
  });
});

describe("the lease of a lane", () => {
  const waiver = hexToBytes(WAIVER);
  const other = () => ({ chain: lane.chain, waiver, owner: randomUUID() });
  /** Moves the end of the lease, by the database's clock. */
  const leaseEndsIn = (text: string) =>
    store.pool.query("update lanes set lease_until = now() + $1::interval", [text]);

  it("is its owner's until it runs out, and not a moment less", async () => {
    await leaseEndsIn("1 minute");
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
    await leaseEndsIn("-1 millisecond");
    expect(await takeLease(store, other(), 60_000)).toMatchObject({ lane: { epoch: lane.epoch + 1n } });
  });

  it("is renewed by its owner under the same epoch, also after it ran out", async () => {
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
    await leaseEndsIn("-1 minute");
    expect((await takeLease(store, lane, 60_000))?.lane.epoch).toBe(lane.epoch);
  });

  it("goes to exactly one of many who want it", async () => {
    await leaseEndsIn("-1 minute");
    const taken = await Promise.all(Array.from({ length: 8 }, () => takeLease(store, other(), 60_000)));
    expect(taken.filter((held) => held !== undefined)).toHaveLength(1);
  });

  it("cannot be handed over by somebody who has lost it", async () => {
    await leaseEndsIn("-1 minute");
    await takeLease(store, other(), 60_000);
    await releaseLease(store, lane);
    expect(await takeLease(store, other(), 60_000)).toBeUndefined();
  });
});
