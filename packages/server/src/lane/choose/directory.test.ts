import { randomUUID } from "node:crypto";
import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
} from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { SECOND_WAIVER, WAIVER } from "../../../test/support/user.js";
import type { PolicySet } from "../../policy/policySet.js";
import { registerLanes } from "../../store/lanes/lease.js";
import { setBreaker, setLaneState } from "../../store/lanes/setLaneState.js";
import type { Store } from "../../store/store.js";
import { createSchedule } from "../../util/schedule.js";
import {
  createLaneStatusCache,
  createOwnWaivers,
  type LaneDirectory,
  openLaneDirectory,
} from "./directory.js";

const FIRST = hexToBytes(WAIVER);
const SECOND = hexToBytes(SECOND_WAIVER);

let store: Store;
let chainRef: number;
let lane: Awaited<ReturnType<typeof createHeldLane>>;
const directories: LaneDirectory[] = [];
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  chainRef = lane.chain;
  await registerLanes(store, chainRef, [SECOND]);
});
afterEach(async () => {
  await Promise.all(directories.splice(0).map((directory) => directory.close()));
});

const NO_POLICIES: Pick<PolicySet, "waiversDiffer" | "waiversFor"> = {
  waiversDiffer: false,
  waiversFor: () => undefined,
};

function opened({
  own = [FIRST],
  whyUnusable = (_waiver: Uint8Array): string | undefined => undefined,
  announceWork = (_waivers: readonly Uint8Array[]) => {},
  policies = NO_POLICIES,
  from = store,
} = {}): LaneDirectory {
  const statuses = createLaneStatusCache(from, chainRef);
  const ownWaivers = createOwnWaivers(own);
  const ofLanes = {
    store: from,
    chainRef,
    log: silent,
    schedule: createSchedule((error) => expect.unreachable(String(error))),
    statuses,
    ownWaivers,
  };
  const directory = openLaneDirectory({ ...ofLanes, whyUnusable, announceWork, policies: () => policies });
  directories.push(directory);
  return directory;
}

/** A directory that has been refreshed. */
async function refreshed(options?: Parameters<typeof opened>[0]): Promise<LaneDirectory> {
  const directory = opened(options);
  await directory.refresh();
  return directory;
}

const takeLane = (waiver: Uint8Array, owner = randomUUID()) =>
  takeLease(store, { chain: chainRef, waiver, owner }, 3_600_000);
const chosen = (directory: LaneDirectory, times = 1) =>
  Array.from({ length: times }, () => bytesToHex(directory.choose()));

describe("the lane for a sender that has nothing in flight", () => {
  it("is the one with the least to do, counting the senders since the last refresh", async () => {
    await takeLane(SECOND);
    for (const user of [1, 2, 3]) await createSubmission("queued", store, lane, newSubmissionOf(user));
    const directory = await refreshed();
    expect(chosen(directory, 3)).toEqual(Array(3).fill(SECOND_WAIVER));
    const next = chosen(directory, 10);
    expect(next.filter((waiver) => waiver === WAIVER)).toHaveLength(5);
  });

  it.each([
    ["that no replica owns", async () => {}],
    [
      "whose breaker is open",
      async () => {
        const second = await takeLane(SECOND);
        if (second) await setBreaker(store, second.lane, 20_000, "no");
      },
    ],
    ["that drains", () => takeLane(SECOND).then(() => setLaneState(store, chainRef, SECOND, "draining"))],
    ["that is stopped", () => takeLane(SECOND).then(() => setLaneState(store, chainRef, SECOND, "stopped"))],
    ["that is retired", () => takeLane(SECOND).then(() => setLaneState(store, chainRef, SECOND, "retired"))],
  ])("is not one %s", async (_, prepare) => {
    await prepare();
    expect(new Set(chosen(await refreshed(), 5))).toEqual(new Set([WAIVER]));
  });

  it("is one of this replica's, in turn, where no lane is known to work", async () => {
    await setLaneState(store, chainRef, FIRST, "open");
    await store.pool.query("update lanes set owner = null, lease_until = '-infinity'");
    expect(new Set(chosen(await refreshed({ own: [SECOND] }), 4))).toEqual(new Set([SECOND_WAIVER]));
    const waivers = chosen(await refreshed({ own: [FIRST, SECOND] }), 4);
    expect(waivers.filter((waiver) => waiver === WAIVER)).toHaveLength(2);
  });
});

describe("the lane for a call that only some waivers may carry", () => {
  it("is one of these waivers, even if another lane has less to do", async () => {
    await takeLane(SECOND);
    for (const user of [1, 2, 3]) await createSubmission("queued", store, lane, newSubmissionOf(user));
    const directory = await refreshed();
    expect(bytesToHex(directory.choose([FIRST]))).toBe(WAIVER);
    expect(directory.chooseUsable([FIRST, SECOND])).toEqual(Buffer.from(SECOND));
    expect(directory.chooseUsable([bytes(20, 9)])).toBeUndefined();
  });

  it("is the only permitted one even while it takes no work; none is usable then", async () => {
    await takeLane(SECOND);
    await setLaneState(store, chainRef, SECOND, "stopped");
    const directory = await refreshed();
    expect(bytesToHex(directory.choose([SECOND]))).toBe(SECOND_WAIVER);
    expect(directory.chooseUsable([SECOND])).toBeUndefined();
  });
});

describe("a lane whose waiver the policies permit nothing", () => {
  const unusable = (waiver: Uint8Array) =>
    bytesToHex(waiver) === WAIVER ? "it is not registered" : undefined;

  it("takes no work, even if no other lane is known to work", async () => {
    const directory = await refreshed({ own: [FIRST, SECOND], whyUnusable: unusable });
    expect(directory.lanes.map((one) => [bytesToHex(one.waiver), directory.isUsable(one)])).toContainEqual([
      WAIVER,
      false,
    ]);
    expect(new Set(chosen(directory, 4))).toEqual(new Set([SECOND_WAIVER]));
  });
});

describe("a submission that is queued in a lane that does not work", () => {
  const laneOf = async (id: string) => {
    const { rows } = await store.pool.query<{ waiver: Buffer }>(
      "select waiver from submissions where id = $1",
      [id],
    );
    return rows[0] && bytesToHex(rows[0].waiver);
  };

  it("goes to a lane that works, which is woken, unless its sender has something signed in the old lane", async () => {
    const [signed, behind, free] = [newSubmissionOf(1, 0), newSubmissionOf(1, 1), newSubmissionOf(2)];
    await createSubmission("signed", store, lane, signed);
    await createSubmission("queued", store, lane, behind);
    await createSubmission("queued", store, lane, free);
    await setLaneState(store, chainRef, FIRST, "stopped");
    await takeLane(SECOND);
    const woken = await new Promise<readonly Uint8Array[]>((resolve) => {
      refreshed({ announceWork: resolve }).catch(() => {});
    });
    expect(woken.map(bytesToHex)).toEqual([SECOND_WAIVER]);
    expect(await laneOf(free.id)).toBe(SECOND_WAIVER);
    expect([await laneOf(signed.id), await laneOf(behind.id)]).toEqual([WAIVER, WAIVER]);
  });

  it("goes only to a lane whose waiver may carry its call", async () => {
    const third = bytes(20, 3);
    const calls = [
      newSubmissionOf(1),
      { ...newSubmissionOf(2), target: bytes(20, 7) },
      { ...newSubmissionOf(3), selector: bytes(4, 8) },
    ];
    for (const one of calls) await createSubmission("queued", store, lane, one);
    await registerLanes(store, chainRef, [third]);
    for (const waiver of [SECOND, third]) await takeLane(waiver);
    await setLaneState(store, chainRef, FIRST, "stopped");
    const waiversFor = (target: Uint8Array, data: Uint8Array) =>
      data[0] === 8 ? [FIRST] : [bytesToHex(target) === bytesToHex(bytes(20, 7)) ? third : SECOND];
    let movesLeft = 2;
    await new Promise<void>((resolve) => {
      const announceWork = () => --movesLeft === 0 && resolve();
      refreshed({ policies: { waiversDiffer: true, waiversFor }, announceWork }).catch(() => {});
    });
    expect(await Promise.all(calls.map(({ id }) => laneOf(id)))).toEqual([
      SECOND_WAIVER,
      bytesToHex(third),
      WAIVER,
    ]);
  });

  it("stays where it is while no lane works", async () => {
    const id = await createSubmission("queued", store, lane, newSubmissionOf(1));
    await setLaneState(store, chainRef, FIRST, "stopped");
    const directory = await refreshed();
    await directory.refresh();
    await directory.close();
    expect(await laneOf(id)).toBe(WAIVER);
  });
});

describe("the owner of a lane", () => {
  it("is known while its lease holds", async () => {
    const directory = await refreshed();
    expect(directory.ownerOf(FIRST)).toBe(lane.owner);
    expect(directory.ownerOf(bytes(20, 9))).toBeUndefined();
    await store.pool.query("update lanes set lease_until = now() - interval '1 second'");
    await directory.refresh();
    expect(directory.ownerOf(FIRST)).toBeUndefined();
  });
});

describe("a refresh during another", () => {
  it("reads the store after it, so that the newer lanes stay", async () => {
    const answers: ((owner: string) => void)[] = [];
    const query = () =>
      new Promise((resolve) => {
        answers.push((owner) =>
          resolve({ rows: [{ waiver: FIRST, state: "open", known_below: null, owner }] }),
        );
      });
    const slowStore = { ...store, pool: { query } } as unknown as Store;
    // Opening the directory begins the first of the two refreshes.
    const directory = opened({ from: slowStore });
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    // All that wait for the first one share the second.
    const others = [directory.refresh(), directory.refresh(), directory.refresh()];
    const closed = directory.close();
    answers[0]?.("who had it before");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]?.("who has it now");
    await Promise.all([...others, closed]);
    expect(directory.ownerOf(FIRST)).toBe("who has it now");
  });
});
