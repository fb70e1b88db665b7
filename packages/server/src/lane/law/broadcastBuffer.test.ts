import { afterEach, describe, expect, it, vi } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
} from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { SubmissionUpdate } from "../../results/results.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { releaseLease } from "../../store/lanes/lease.js";
import type { Store } from "../../store/store.js";
import { findSubmissions } from "../../store/submissions/findSubmissions.js";
import { saveIncluded } from "../../store/transitions/saveIncluded.js";
import { saveRequeued } from "../../store/transitions/saveRequeued.js";
import { saveSigned } from "../../store/transitions/saveSigned.js";
import { createSchedule } from "../../util/schedule.js";
import { BroadcastBuffer } from "./broadcastBuffer.js";

const NEVER_MS = 3_600_000;
/** The replica with the buffer. */
const REPLICA = crypto.randomUUID();
/** Another one, which has accepted the submissions unless a test says otherwise. */
const origin = crypto.randomUUID();
/** The hash of the wrapper that `createSubmission` signs. */
const wrapperHash = bytes(32, 2);

let store: Store;
let lane: HeldLane;
let notified: string[];
let published: string[];
let broadcastBuffer: BroadcastBuffer;
/** Resolves with the first update that is published after the store knows. */
let stored: Promise<void>;

function create(flushDelayMs: number, blockWaitMs = NEVER_MS): BroadcastBuffer {
  let onStored = () => {};
  stored = new Promise((resolve) => {
    onStored = resolve;
  });
  const notifyHere = (id: string, { state }: SubmissionUpdate) => notified.push(`${id} ${state}`);
  return new BroadcastBuffer({
    store,
    results: {
      notifyHere,
      publish(moved, updateOf) {
        published.push(...moved.map(({ id }) => `${id} ${updateOf(id).state}`));
        if (moved.length > 0) onStored();
      },
    },
    log: silent,
    replica: REPLICA,
    schedule: createSchedule((error) => expect.unreachable(String(error))),
    flushDelayMs,
    blockWaitMs,
  });
}

const stateOf = async (id: string) => (await findSubmissions(store, [id]))[0]?.state;
const isUnstored = (id: string) => broadcastBuffer.unstored()({ id, wrapperHash });

useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  notified = [];
  published = [];
  broadcastBuffer = create(NEVER_MS);
});
afterEach(() => broadcastBuffer.close());

describe("buffered broadcasts", () => {
  it("notify this replica at once, and all replicas once the store knows", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    expect([notified, published, await stateOf(id)]).toEqual([[`${id} broadcast`], [], "signed"]);
    await broadcastBuffer.flush();
    expect([published, await stateOf(id)]).toEqual([[`${id} broadcast`], "broadcast"]);
  });

  it("are stored after a short delay", async () => {
    broadcastBuffer = create(1);
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    await stored;
    expect(await stateOf(id)).toBe("broadcast");
  });

  it("make a flush wait for the write that has them", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    const write = deferred();
    const beyond = broadcastBuffer.storeBeyond([id], () => write.promise);
    let done = false;
    const storing = broadcastBuffer.flush().then(() => {
      done = true;
    });
    expect([await stateOf(id), isUnstored(id), done]).toEqual(["signed", true, false]);
    write.resolve();
    await Promise.all([beyond, storing]);
    expect(isUnstored(id)).toBe(false);
  });

  it("stay in the buffer if they could not be stored", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    vi.spyOn(store.pool, "query").mockImplementationOnce(() => {
      throw new Error("the store does not answer");
    });
    await broadcastBuffer.flush();
    expect(isUnstored(id)).toBe(true);
    await broadcastBuffer.flush();
    expect([await stateOf(id), isUnstored(id)]).toEqual(["broadcast", false]);
  });

  it("are left to the lane's next owner, who finds them signed and sends them again", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    await releaseLease(store, lane);
    await takeLease(store, { ...lane, owner: crypto.randomUUID() }, NEVER_MS);
    await broadcastBuffer.flush();
    expect([published, await stateOf(id)]).toEqual([[], "signed"]);
    // The lane writes nothing of its former lease when it has the lease again.
    expect(isUnstored(id)).toBe(false);
  });

  it("of an earlier lease of this process are stored with those of the present one", async () => {
    const ids: string[] = [];
    for (const user of [1, 2])
      ids.push(await createSubmission("signed", store, lane, newSubmissionOf(user), BigInt(user)));
    await releaseLease(store, lane);
    const renewed = await takeLease(store, lane, NEVER_MS);
    const leases = [renewed?.lane ?? lane, lane];
    for (const [i, id] of ids.entries())
      broadcastBuffer.add(leases[i] ?? lane, [{ id, wrapperHash, origin }]);
    broadcastBuffer.add(leases[0] ?? lane, [{ id: ids[0] ?? "", wrapperHash, origin }]);
    broadcastBuffer.add(lane, [{ id: ids[1] ?? "", wrapperHash, origin }]);
    await broadcastBuffer.flush();
    expect(await Promise.all(ids.map(stateOf))).toEqual(["broadcast", "broadcast"]);
  });

  it("do not apply to a wrapper that was signed anew meanwhile and is not sent yet", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 4n);
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
    const resigned = {
      id,
      signings: 2,
      waiverNonce: 3n,
      wrapperHash: bytes(32, 7),
      wrapperRaw: bytes(200, 8),
    };
    const saved = await saveSigned(store, lane, [resigned]);
    expect(saved.map((one) => one.id)).toEqual([id]);
    await broadcastBuffer.flush();
    expect([published, await stateOf(id)]).toEqual([[], "signed"]);
  });

  it("apply to a wrapper that was signed anew, also where a node shows the former one later", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 4n);
    await saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true });
    const next = { id, wrapperHash: bytes(32, 7) };
    await saveSigned(store, lane, [{ ...next, signings: 2, waiverNonce: 3n, wrapperRaw: bytes(200, 8) }]);
    broadcastBuffer.add(lane, [{ ...next, origin }]);
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin }]);
    expect(broadcastBuffer.unstored()(next)).toBe(true);
    await broadcastBuffer.flush();
    expect(await stateOf(id)).toBe("broadcast");
  });
});

describe("buffered broadcasts of what this replica accepted", () => {
  const bufferOwn = async (user: number, nonce: bigint) => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(user), nonce);
    broadcastBuffer.add(lane, [{ id, wrapperHash, origin: REPLICA }]);
    return id;
  };
  it("wait for their block beside other writes of the lane, unless somebody asks", async () => {
    broadcastBuffer = create(1);
    const own = await bufferOwn(1, 4n);
    const other = await createSubmission("signed", store, lane, newSubmissionOf(2), 5n);
    broadcastBuffer.add(lane, [{ id: other, wrapperHash, origin }]);
    await stored;
    expect([await stateOf(own), await stateOf(other)]).toEqual(["signed", "broadcast"]);
    await broadcastBuffer.flush();
    expect(await stateOf(own)).toBe("broadcast");
  });

  it("are stored when no block has come for a while", async () => {
    broadcastBuffer = create(NEVER_MS, 1);
    const id = await bufferOwn(1, 4n);
    await stored;
    expect(await stateOf(id)).toBe("broadcast");
  });

  it("need no write where the inclusion is stored first, and keep their time", async () => {
    const id = await bufferOwn(1, 4n);
    const [signed] = await findSubmissions(store, [id]);
    const save = (agesMs: ReadonlyMap<string, number>) => {
      const block = { blockNumber: 5n, blockHash: bytes(32, 5), gasUsed: 21_000n, reverted: false };
      const broadcastAgeMs = agesMs.get(id);
      expect(broadcastAgeMs).toBeGreaterThan(0);
      return saveIncluded(store, lane, [{ id, ...block, carriedBy: "own", broadcastAgeMs: 60_000 }], true);
    };
    const failing = broadcastBuffer.storeBeyond([id], () => Promise.reject(new Error("no answer")));
    await expect(failing).rejects.toThrow("no answer");
    await broadcastBuffer.storeBeyond([id], save);
    await broadcastBuffer.flush();
    expect(published).toEqual([]);
    const [included] = await findSubmissions(store, [id]);
    expect(included?.state).toBe("included");
    expect(included?.steps.broadcastAt?.getTime()).toBeLessThan(signed?.steps.signedAt?.getTime() ?? 0);
  });
});
