import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  postpone,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { certaintyOf, type SubmissionState, TRANSITIONS } from "../../model/submission/submission.js";
import { type HeldLane, LeaseLostError } from "../lanes/heldLane.js";
import { registerLanes, releaseLease } from "../lanes/lease.js";
import { raiseKnownBelow } from "../lanes/nonces/lostWrappers.js";
import { findWithdrawnWrappers, forgetWithdrawnWrappers } from "../lanes/nonces/withdrawnWrappers.js";
import { findInFlight } from "../lanes/queue/unfinished.js";
import type { Store } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
import { saveFinal } from "./saveFinal.js";
import { saveIncluded } from "./saveIncluded.js";
import { saveReorged } from "./saveReorged.js";
import { saveRequeued } from "./saveRequeued.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const STATES = Object.keys(TRANSITIONS) as SubmissionState[];

/** The whole row, so that a test can see whether anything of it has changed. */
async function rowOf(id: string): Promise<unknown> {
  return (await store.pool.query("select * from submissions where id = $1", [id])).rows[0];
}

/** The wrappers in the records of submissions, in the order of the ids. */
async function recordedWrappers(ids: readonly string[]): Promise<unknown[]> {
  const sql = `select waiver, waiver_nonce, wrapper_hash from submissions
    where id = any($1::uuid[]) order by array_position($1::uuid[], id)`;
  return (await store.pool.query(sql, [ids])).rows;
}

it.each([
  [true, "unknown"],
  [false, "not_broadcast"],
] as const)(
  "a queued submission whose earlier wrapper may land (%s) has the certainty %s",
  async (isOpen, certainty) => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 1n);
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen });
    const [submission] = await findSubmissions(store, [id]);
    expect(submission && certaintyOf(submission)).toBe(certainty);
  },
);

it("a wrapper that was signed again under its nonce may land where an answer to the same bytes before was unclear", async () => {
  const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 1n);
  for (const isOpen of [true, false]) {
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen });
    const [submission] = await findSubmissions(store, [id]);
    expect(submission && certaintyOf(submission)).toBe("unknown");
    await TRANSITION_TO.signed(store, lane, id, 1n);
  }
});

describe("a transition of a submission", () => {
  it("changes the row exactly where the transition table permits it, for every state and step", async () => {
    let user = 0;
    for (const from of STATES) {
      for (const to of STATES) {
        user++;
        const id = await createSubmission(from, store, lane, newSubmissionOf(user), BigInt(user));
        const before = await rowOf(id);
        // A node that takes a wrapper again is the one step that keeps the state. Included ones return to `queued` only if
        // another wrapper carried them, which the tests of reorgs show.
        const allowed =
          ((TRANSITIONS[from] as readonly string[]).includes(to) &&
            !(from === "included" && to === "queued")) ||
          (from === "broadcast" && to === "broadcast");
        const changed = await TRANSITION_TO[to](store, lane, id, BigInt(user));
        expect([from, to, changed]).toEqual([from, to, allowed ? [id] : []]);
        const [after] = await findSubmissions(store, [id]);
        expect([from, to, after?.state]).toEqual([from, to, allowed ? to : from]);
        if (!allowed) expect(await rowOf(id)).toEqual(before);
      }
    }
  });

  it("writes nothing once the lane has another owner", async () => {
    const ids = new Map<SubmissionState, string>();
    for (const [i, state] of STATES.entries()) {
      ids.set(state, await createSubmission(state, store, lane, newSubmissionOf(i + 1), BigInt(i)));
    }
    await releaseLease(store, lane);
    const next = await takeLease(store, { ...lane, owner: randomUUID() }, 60_000);
    expect(next?.lane.epoch).toBe(lane.epoch + 1n);
    for (const [state, id] of ids) {
      const before = await rowOf(id);
      for (const to of STATES) {
        await expect(TRANSITION_TO[to](store, lane, id, 99n)).rejects.toThrow(LeaseLostError);
      }
      await expect(postpone(store, lane, [id], 0)).rejects.toThrow(LeaseLostError);
      expect([state, await rowOf(id)]).toEqual([state, before]);
    }
  });

  it("frees the waiver nonce with every step to queued or failed, and never gives a nonce to two submissions", async () => {
    const first = await createSubmission("broadcast", store, lane, newSubmissionOf(1), 0n);
    const second = await createSubmission("queued", store, lane, newSubmissionOf(2));
    await expect(TRANSITION_TO.signed(store, lane, second, 0n)).rejects.toThrow(/unfinished_by_waiver_nonce/);
    await TRANSITION_TO.queued(store, lane, first);
    expect(await TRANSITION_TO.signed(store, lane, second, 0n)).toEqual([second]);
    expect(await findInFlight(store, lane)).toMatchObject([{ id: second, waiverNonce: 0n }]);
    await TRANSITION_TO.failed(store, lane, second);
    expect(await TRANSITION_TO.signed(store, lane, first, 0n)).toEqual([first]);
  });
});

describe("a reorg", () => {
  const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n, reverted: false };

  it("returns submissions to broadcast, or to queued if a foreign wrapper carried them, and leaves final ones alone", async () => {
    const carriedByOwn = await createSubmission("included", store, lane, newSubmissionOf(1), 1n);
    const carriedByForeign = await createSubmission("broadcast", store, lane, newSubmissionOf(2), 2n);
    const unsigned = await createSubmission("queued", store, lane, newSubmissionOf(3));
    const included = [carriedByForeign, unsigned].map((id) => ({
      id,
      ...block,
      carriedBy: "unknown" as const,
    }));
    await saveIncluded(store, lane, included, false);
    const final = await createSubmission("queued", store, lane, newSubmissionOf(4));
    await saveIncluded(store, lane, [{ id: final, ...block, carriedBy: "unknown" }], true);
    const ids = [carriedByOwn, carriedByForeign, unsigned, final];
    expect(await saveReorged(store, lane, ids)).toHaveLength(3);
    const states = new Map((await findSubmissions(store, ids)).map(({ id, state }) => [id, state]));
    expect(ids.map((id) => states.get(id))).toEqual(["broadcast", "queued", "queued", "included"]);
    expect(await findInFlight(store, lane)).toMatchObject([{ id: carriedByOwn, waiverNonce: 1n }]);
  });
});

describe("a submission that a foreign wrapper carried", () => {
  const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n, reverted: false };
  const none = { id: "", ...block, carriedBy: "own" as const };

  it("leaves its stored wrapper behind as withdrawn, whether its block is final or not", async () => {
    const [first, second, third] = [
      await createSubmission("broadcast", store, lane, newSubmissionOf(1), 4n),
      await createSubmission("signed", store, lane, newSubmissionOf(2), 5n),
      await createSubmission("broadcast", store, lane, newSubmissionOf(3), 6n),
    ];
    await saveIncluded(store, lane, [{ ...none, id: first, carriedBy: "unknown" }], false);
    await saveIncluded(
      store,
      lane,
      [
        { ...none, id: second, carriedBy: "unknown" },
        { ...none, id: third },
      ],
      true,
    );
    const withdrawn = await findWithdrawnWrappers(store, lane, [4n, 5n, 6n]);
    expect(withdrawn.map(({ waiverNonce }) => waiverNonce).sort()).toEqual([4n, 5n]);
  });

  it("keeps the withdrawn wrapper until the chain has used its nonce, and no lower nonce is in flight", async () => {
    const ids = [
      await createSubmission("broadcast", store, lane, newSubmissionOf(1), 4n),
      await createSubmission("broadcast", store, lane, newSubmissionOf(2), 5n),
    ];
    await createSubmission("broadcast", store, lane, newSubmissionOf(3), 6n);
    await saveIncluded(
      store,
      lane,
      ids.map((id) => ({ ...none, id, carriedBy: "unknown" as const })),
      true,
    );
    const withdrawnNoncesAfter = async (chainNonce: bigint) => {
      await raiseKnownBelow(store, lane, chainNonce);
      await forgetWithdrawnWrappers(store, lane);
      return (await findWithdrawnWrappers(store, lane, [4n, 5n])).map(({ waiverNonce }) => waiverNonce);
    };
    expect([
      await withdrawnNoncesAfter(4n),
      await withdrawnNoncesAfter(5n),
      await withdrawnNoncesAfter(6n),
    ]).toEqual([[4n, 5n], [5n], []]);
  });

  it("is recorded with that wrapper if it is of a lane of this store, before its block is final and after", async () => {
    const second = bytes(20, 7);
    await registerLanes(store, lane.chain, [second]);
    const waivers = { own: lane.waiver, second, foreign: bytes(20, 8) };
    const carriers = Object.values(waivers).map((waiver) => ({
      waiver,
      waiverNonce: 1n,
      wrapperHash: bytes(32, 9),
    }));
    const ids: string[] = [];
    for (const user of [1, 2, 3])
      ids.push(await createSubmission("broadcast", store, lane, newSubmissionOf(user), 3n + BigInt(user)));
    const included = ids.map((id, i) => ({ ...none, id, carriedBy: carriers[i] ?? ("own" as const) }));
    const noWrapper = { waiver: lane.waiver, waiverNonce: undefined, wrapperHash: undefined };
    const expected = [carriers[0], carriers[1], noWrapper].map((carrier) => ({
      waiver: Buffer.from(carrier?.waiver ?? ""),
      waiver_nonce: carrier?.waiverNonce?.toString() ?? null,
      wrapper_hash: carrier?.wrapperHash ? Buffer.from(carrier.wrapperHash) : null,
    }));
    await saveIncluded(store, lane, included, false);
    expect(await recordedWrappers(ids)).toEqual(expected);
    await saveFinal(store, lane, ids);
    expect(await recordedWrappers(ids)).toEqual(expected);
    const last = await createSubmission("broadcast", store, lane, newSubmissionOf(4), 9n);
    await saveIncluded(store, lane, [{ ...none, id: last, carriedBy: carriers[1] ?? "own" }], true);
    expect(await recordedWrappers([last])).toEqual([expected[1]]);
  });

  it("is recorded without that wrapper after a reorg", async () => {
    const id = await createSubmission("broadcast", store, lane, newSubmissionOf(1), 4n);
    const carriedBy = { waiver: lane.waiver, waiverNonce: 1n, wrapperHash: bytes(32, 9) };
    await saveIncluded(store, lane, [{ ...none, id, carriedBy }], false);
    await saveReorged(store, lane, [id]);
    expect((await findSubmissions(store, [id])).map(({ state }) => state)).toEqual(["queued"]);
    expect(await recordedWrappers([id])).toMatchObject([{ waiver_nonce: null, wrapper_hash: null }]);
  });
});
