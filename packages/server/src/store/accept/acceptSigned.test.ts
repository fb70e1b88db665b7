import { randomUUID } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { createPastDays } from "../../../test/support/outcomeDays.js";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { takeLease } from "../../../test/support/takeLease.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { inTransaction } from "../database/transaction.js";
import { type HeldLane, LeaseLostError } from "../lanes/heldLane.js";
import { registerLanes } from "../lanes/lease.js";
import { withPartitionsLock } from "../outcomes/outcomeDays.js";
import { summarizeDay } from "../outcomes/summarizeDay.js";
import type { Store } from "../store.js";
import { saveFinal } from "../transitions/saveFinal.js";
import { saveIncluded } from "../transitions/saveIncluded.js";
import { accept } from "./accept.js";
import { acceptSigned } from "./acceptSigned.js";
import type { NewSubmission } from "./newSubmission.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** The new submissions with wrappers, whose waiver nonces begin at `first`. */
const signed = (newSubmissions: readonly NewSubmission[], first = 0n) =>
  newSubmissions.map((newSubmission, i) => ({
    newSubmission,
    waiverNonce: first + BigInt(i),
    wrapperHash: bytes(32, i + 1),
    wrapperRaw: bytes(200, i + 1),
  }));

const write = (all: ReturnType<typeof signed>, held = lane) => {
  const newSubmissions = all.map(({ newSubmission }) => newSubmission);
  return acceptSigned(store, held, lane.owner, newSubmissions, all);
};

async function rows() {
  const sql = `select id, state, waiver_nonce, signings, waiver, wrapper_raw, origin
    from unfinished order by waiver_nonce, id`;
  return (await store.pool.query(sql)).rows;
}

describe("accepting submissions with their wrappers", () => {
  it("stores them as signed in one transaction, as accepting and signing would", async () => {
    const [first, second] = [newSubmissionOf(1), newSubmissionOf(2)];
    expect(await write(signed([first, second], 5n))).toBe(true);
    const common = { state: "signed", signings: 1, waiver: Buffer.from(lane.waiver), origin: lane.owner };
    expect(await rows()).toEqual([
      {
        ...common,
        id: first.id,
        waiver_nonce: "5",
        wrapper_raw: Buffer.from(bytes(200, 1)),
      },
      {
        ...common,
        id: second.id,
        waiver_nonce: "6",
        wrapper_raw: Buffer.from(bytes(200, 2)),
      },
    ]);
    await TRANSITION_TO.queued(store, lane, first.id);
    expect((await rows()).map(({ state }) => state)).toEqual(["signed", "queued"]);
  });

  it.each([
    ["the same InnerTx (D18)", () => newSubmissionOf(1)],
    ["another InnerTx with the nonce (D20)", () => newSubmissionOf(1, 0, { gasLimit: 100_001n })],
    ["an InnerTx with another nonce, whose place and lane accept() decides", () => newSubmissionOf(1, 3)],
  ])("accepts none where a sender has unfinished work: %s", async (_, competitor) => {
    await accept(store, { chain: lane.chain, origin: lane.owner }, [competitor()]);
    expect(await write(signed([newSubmissionOf(2), newSubmissionOf(1)]))).toBe(false);
    expect(await rows()).toHaveLength(1);
  });

  it("accepts none where an outcome has the nonce of a sender, and takes back what it has inserted", async () => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(1));
    const block = { blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n };
    await saveIncluded(store, lane, [{ id, ...block, reverted: false, carriedBy: "own" }], true);
    expect(await write(signed([newSubmissionOf(2), newSubmissionOf(1)], 1n))).toBe(false);
    expect(await rows()).toEqual([]);
    expect(await write(signed([newSubmissionOf(2), newSubmissionOf(1, 1)], 1n))).toBe(true);
  });

  it("accepts none where a waiver nonce is given already", async () => {
    await write(signed([newSubmissionOf(1)]));
    expect(await write(signed([newSubmissionOf(2)]))).toBe(false);
    expect(await rows()).toHaveLength(1);
  });

  it("accepts none below the floor of the lane's nonces, which readings would pass over", async () => {
    await store.pool.query("update lanes set nonce_floor = 7");
    expect(await write(signed([newSubmissionOf(1)], 6n))).toBe(false);
    expect(await write(signed([newSubmissionOf(1)], 7n))).toBe(true);
  });

  it("accepts none of an id that has no day, which accept() refuses", async () => {
    const late = { ...newSubmissionOf(1), id: "ffffffff-ffff-7fff-bfff-ffffffffffff" };
    expect(await write(signed([late]))).toBe(false);
    expect(await rows()).toEqual([]);
  });

  it("accepts nothing without the lease", async () => {
    const replaced = { ...lane, epoch: lane.epoch - 1n };
    await expect(write(signed([newSubmissionOf(1)]), replaced)).rejects.toThrow(LeaseLostError);
    expect(await rows()).toEqual([]);
  });

  it("accepts none that somebody accepts in a transaction that is open, and does not wait for it", async () => {
    const other = newSubmissionOf(1);
    await inTransaction(store, async (pool) => {
      await accept({ pool }, { chain: lane.chain, origin: lane.owner }, [other]);
      expect(await write(signed([newSubmissionOf(1)]))).toBe(false);
    });
    expect((await rows()).map(({ id, state }) => `${id} ${state}`)).toEqual([`${other.id} queued`]);
  });

  it("accepts none whose competitor becomes an outcome of an earlier day meanwhile, in another lane", async () => {
    await createPastDays(store, 10);
    await summarizeAll();
    const waiver = bytes(20, 77);
    await registerLanes(store, lane.chain, [waiver]);
    const lease = await takeLease(store, { chain: lane.chain, waiver, owner: randomUUID() }, 3_600_000);
    if (lease === undefined) throw new Error("another owner holds the lane");
    const old = { ...newSubmissionOf(1), waiver, id: uuidv7({ msecs: Date.now() - 5 * 86_400_000 }) };
    await createSubmission("included", store, lease.lane, old);
    const client = await store.pool.connect();
    await client.query("begin");
    await saveFinal({ ...store, pool: client } as unknown as Store, lease.lane, [old.id]);
    // The limit of locks would decline it before: this is about what it sees after a short wait. No test of this store follows.
    await store.pool.query("alter function accept_signed reset all");
    const answer = write(signed([newSubmissionOf(1)]));
    await waitingForLock();
    await client.query("commit");
    client.release();
    expect(await answer).toBe(false);
    expect(await rows()).toEqual([]);
  });
});

async function summarizeAll(): Promise<void> {
  await withPartitionsLock(store, new AbortController().signal, async (db) => {
    while ((await summarizeDay(db, async () => {})) !== undefined);
  });
}

/** Resolves when a session waits for a lock. */
async function waitingForLock(): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    const { rowCount } = await store.pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (rowCount) return;
  }
  throw new Error("no session waits for a lock");
}
