import { randomUUID } from "node:crypto";
import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { applicantOf, bytes, laneIn, submissionIn } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { SECOND_WAIVER, WAIVER } from "../../test/support/user.js";
import { registerLane, takeLease } from "../store/lanes/lease.js";
import { setBreaker } from "../store/lanes/setBreaker.js";
import { setLaneState } from "../store/lanes/setLaneState.js";
import type { Store } from "../store/store.js";
import { type LaneDirectory, openLaneDirectory } from "./directory.js";

const FIRST = hexToBytes(WAIVER);
const SECOND = hexToBytes(SECOND_WAIVER);

let store: Store;
let chainRef: number;
let lane: Awaited<ReturnType<typeof laneIn>>;
const boards: LaneDirectory[] = [];
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await laneIn(store);
  chainRef = lane.chain;
  await registerLane(store, { chain: chainRef, waiver: SECOND });
});
afterEach(async () => {
  await Promise.all(boards.splice(0).map((board) => board.close()));
});

function opened({
  own = [FIRST],
  whyUnusable = (_waiver: Uint8Array): string | undefined => undefined,
  announceWork = (_owners: readonly string[]) => {},
  from = store,
} = {}): LaneDirectory {
  const options = { store: from, chainRef, log: silent, ownWaivers: () => own, whyUnusable, announceWork };
  const one = openLaneDirectory(options);
  boards.push(one);
  return one;
}

/** A board that has looked. */
async function board(options?: Parameters<typeof opened>[0]): Promise<LaneDirectory> {
  const one = opened(options);
  await one.refresh();
  return one;
}

const work = (waiver: Uint8Array, owner = randomUUID()) =>
  takeLease(store, { chain: chainRef, waiver, owner }, 3_600_000);
const chosen = (from: LaneDirectory, times = 1) =>
  Array.from({ length: times }, () => bytesToHex(from.choose()));

describe("the lane for a sender that has nothing under way", () => {
  it("is the one with the least to do, counting what was given since the last look", async () => {
    await work(SECOND);
    for (const user of [1, 2, 3]) await submissionIn("queued", store, lane, applicantOf(user));
    const seen = await board();
    expect(chosen(seen, 3)).toEqual(Array(3).fill(SECOND_WAIVER));
    const next = chosen(seen, 10);
    expect(next.filter((waiver) => waiver === WAIVER)).toHaveLength(5);
  });

  it.each([
    ["that nobody works", async () => {}],
    [
      "whose breaker is open",
      () => work(SECOND).then(() => setBreaker(store, chainRef, SECOND, 60_000, "no")),
    ],
    ["that drains", () => work(SECOND).then(() => setLaneState(store, chainRef, SECOND, "draining"))],
    ["that is stopped", () => work(SECOND).then(() => setLaneState(store, chainRef, SECOND, "stopped"))],
    ["that is retired", () => work(SECOND).then(() => setLaneState(store, chainRef, SECOND, "retired"))],
  ])("is not one %s", async (_, prepare) => {
    await prepare();
    expect(new Set(chosen(await board(), 5))).toEqual(new Set([WAIVER]));
  });

  it("is one of this replica's where none is known to work: they are taken in turn", async () => {
    await setLaneState(store, chainRef, FIRST, "open");
    await store.pool.query("update lanes set owner = null, lease_until = '-infinity'");
    expect(new Set(chosen(await board({ own: [SECOND] }), 4))).toEqual(new Set([SECOND_WAIVER]));
    const both = chosen(await board({ own: [FIRST, SECOND] }), 4);
    expect(both.filter((waiver) => waiver === WAIVER)).toHaveLength(2);
  });
});

describe("the lane for a call that only some waivers may carry", () => {
  it("is one of theirs, also where another has less to do", async () => {
    await work(SECOND);
    for (const user of [1, 2, 3]) await submissionIn("queued", store, lane, applicantOf(user));
    const seen = await board();
    expect(bytesToHex(seen.choose([FIRST]))).toBe(WAIVER);
    expect(seen.chooseUsable([FIRST, SECOND])).toEqual(Buffer.from(SECOND));
    expect(seen.chooseUsable([bytes(20, 9)])).toBeUndefined();
  });

  it("is the only one that may, also while it takes no work; and then none is usable", async () => {
    await work(SECOND);
    await setLaneState(store, chainRef, SECOND, "stopped");
    const seen = await board();
    expect(bytesToHex(seen.choose([SECOND]))).toBe(SECOND_WAIVER);
    expect(seen.chooseUsable([SECOND])).toBeUndefined();
  });
});

describe("a lane whose waiver cannot be used, by the policies", () => {
  const unusable = (waiver: Uint8Array) =>
    bytesToHex(waiver) === WAIVER ? "it is not registered" : undefined;

  it("takes no work, also where no other is known to work", async () => {
    const seen = await board({ own: [FIRST, SECOND], whyUnusable: unusable });
    expect(seen.lanes.map((one) => [bytesToHex(one.waiver), seen.isUsable(one)])).toContainEqual([
      WAIVER,
      false,
    ]);
    expect(new Set(chosen(seen, 4))).toEqual(new Set([SECOND_WAIVER]));
  });
});

describe("what is queued in a lane that does not work", () => {
  const laneOf = async (id: string) => {
    const { rows } = await store.pool.query<{ waiver: Buffer }>(
      "select waiver from submissions where id = $1",
      [id],
    );
    return rows[0] && bytesToHex(rows[0].waiver);
  };

  it("goes to one that does, whose owner is told; what its sender has signed there keeps the rest there", async () => {
    const [signed, behind, free] = [applicantOf(1, 0), applicantOf(1, 1), applicantOf(2)];
    await submissionIn("signed", store, lane, signed);
    await submissionIn("queued", store, lane, behind);
    await submissionIn("queued", store, lane, free);
    await setLaneState(store, chainRef, FIRST, "stopped");
    const owner = randomUUID();
    await work(SECOND, owner);
    const told = await new Promise<readonly string[]>((resolve) => {
      board({ announceWork: resolve }).catch(() => {});
    });
    expect(told).toEqual([owner]);
    expect(await laneOf(free.id)).toBe(SECOND_WAIVER);
    expect([await laneOf(signed.id), await laneOf(behind.id)]).toEqual([WAIVER, WAIVER]);
  });

  it("stays where it is while no lane works", async () => {
    const id = await submissionIn("queued", store, lane, applicantOf(1));
    await setLaneState(store, chainRef, FIRST, "stopped");
    const seen = await board();
    await seen.refresh();
    await seen.close();
    expect(await laneOf(id)).toBe(WAIVER);
  });

  it("belongs to a lane whose owner is known while its lease holds", async () => {
    const seen = await board();
    expect(seen.ownerOf(FIRST)).toBe(lane.owner);
    expect(seen.ownerOf(bytes(20, 9))).toBeUndefined();
    await store.pool.query("update lanes set lease_until = now() - interval '1 second'");
    await seen.refresh();
    expect(seen.ownerOf(FIRST)).toBeUndefined();
  });
});

describe("a look that began before another and is answered after it", () => {
  it("is not what the board goes by: it knows less", async () => {
    const answers: ((owner: string) => void)[] = [];
    const query = () =>
      new Promise((resolve) => {
        answers.push((owner) => resolve({ rows: [{ waiver: FIRST, state: "open", owner }] }));
      });
    const late = { pool: { query } } as unknown as Store;
    // It looks by itself when it is opened: the first of the two.
    const seen = opened({ from: late });
    const looked = seen.refresh();
    answers[1]?.("who has it now");
    await looked;
    // The board ends with the look that it is at.
    const closed = seen.close();
    answers[0]?.("who had it before");
    await closed;
    expect(answers).toHaveLength(2);
    expect(seen.ownerOf(FIRST)).toBe("who has it now");
  });
});
