import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../../test/support/submissions.js";
import { useTestStore } from "../../../../test/support/testStore.js";
import type { NewSubmission } from "../../accept/newSubmission.js";
import { queueLengths } from "../../accept/queueLengths.js";
import type { Store } from "../../store.js";
import { findUnfinalized } from "../blocks/inclusions.js";
import type { HeldLane } from "../heldLane.js";
import { findLaneStatuses } from "../laneStatus.js";
import { readLaneSnapshot } from "../queue/laneSnapshot.js";
import { findInFlight } from "../queue/unfinished.js";
import { raiseNonceFloor } from "./nonceFloor.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const floor = async () =>
  Number((await store.pool.query<{ f: string }>("select nonce_floor as f from lanes")).rows[0]?.f);

/** The blocks of `unfinished` and its indexes that the work reads. */
async function blocksRead(work: (on: Store) => Promise<unknown>): Promise<number> {
  const connection = await store.pool.connect();
  const onConnection = {
    ...store,
    pool: { ...store.pool, query: connection.query.bind(connection) } as Store["pool"],
  };
  // Counts this connection and its open transaction alone: others report theirs at any time.
  const counter = async () => {
    const { rows } = await connection.query<{ blocks: string }>(
      `select sum(pg_stat_get_xact_blocks_fetched(relation)) as blocks from (
         select 'unfinished'::regclass::oid union all
         select indexrelid from pg_index where indrelid = 'unfinished'::regclass) of_table (relation)`,
    );
    return Number(rows[0]?.blocks);
  };
  await connection.query("begin");
  const before = await counter();
  await work(onConnection);
  const after = await counter();
  await connection.query("rollback");
  connection.release();
  return after - before;
}

/** Opens a transaction that may see all rows. @returns a function that ends it, which the end of the test does as well. */
async function openTransaction(): Promise<() => Promise<void>> {
  const open = await store.pool.connect();
  await open.query("begin isolation level repeatable read; select count(*) from unfinished");
  let ending: Promise<void> | undefined;
  const end = async () => {
    await open.query("commit");
    open.release();
  };
  const endOnce = () => (ending ??= end());
  onTestFinished(endOnce);
  return endOnce;
}

const insertRows = (columns: string, values: string, from: number, to: number) =>
  store.pool.query(
    `insert into unfinished (id, chain, key_id, origin, inner_hash, inner_raw, sender, sender_nonce, target, waiver, look_at, ${columns})
     select gen_random_uuid(), $1, 'key', gen_random_uuid(), sha256(n::text::bytea), '', $2, n, $2, $2, now() - interval '1 hour', ${values}
     from generate_series($3::integer, $4) n`,
    [lane.chain, Buffer.from(lane.waiver), from, to],
  );

/** Inserts and deletes rows. Their entries in the indexes stay, because an open transaction may still see them. */
async function leaveDeadRows(columns: string, values: string): Promise<void> {
  await insertRows(columns, values, 0, 4_999);
  await store.pool.query("delete from unfinished");
  await store.pool.query("vacuum unfinished");
}

it("lets a lane pass over the dead entries that an open transaction keeps, and never over a live one", async () => {
  const endTransaction = await openTransaction();
  await leaveDeadRows(
    "state, waiver_nonce, signings, wrapper_hash, wrapper_raw",
    "'broadcast', n, 1, sha256(n::text::bytea), ''",
  );
  const findOne = (on: Store) => findInFlight(on, lane, { limit: 1 });
  expect(await blocksRead(findOne)).toBeGreaterThan(100);
  await raiseNonceFloor(store, lane, 5_000n);
  expect(await floor()).toBe(4_900);
  expect(await blocksRead(findOne)).toBeLessThan(20);
  await endTransaction();

  // As after a restore of the chain: a nonce below the floor takes it down.
  const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 4_000n);
  expect(await floor()).toBe(4_000);
  expect((await findInFlight(store, lane, { limit: 5 })).map((found) => found.id)).toEqual([id]);
  expect(await findLaneStatuses(store, lane.chain)).toMatchObject([{ inFlight: 1 }]);
  await raiseNonceFloor(store, lane, 9_000n);
  expect(await floor()).toBe(4_000);
});

it("lets the lanes pass over the dead entries of their queues and blocks, and never over what a reading has shown", async () => {
  // Above the entries of the test before, which stay while a transaction is open that began before it, in whichever database.
  await store.pool.query("update lanes set nonce_floor = 10000");
  const endTransaction = await openTransaction();
  await leaveDeadRows("signings", "0");
  await leaveDeadRows("state, block_number", "'included', n");
  await insertRows("state, block_number", "'included', n", 6_000, 6_000);
  const id = await createSubmission("queued", store, lane, newSubmissionOf(1));
  await store.pool.query("update unfinished set look_at = now() - interval '1 minute' where id = $1", [id]);
  const snapshotFrom = (queueFloor?: Date) => (on: Store) =>
    readLaneSnapshot(on, lane, { ready: 10, due: 10, queueFloor });
  const floors = await findLaneStatuses(store, lane.chain);
  const unfinalizedFrom = (blockFloor?: bigint) => (on: Store) => findUnfinalized(on, lane, 10, blockFloor);
  expect(await blocksRead(unfinalizedFrom())).toBeGreaterThan(300);
  expect(await blocksRead(unfinalizedFrom(floors[0]?.blockFloor))).toBeLessThan(20);
  expect(await blocksRead(snapshotFrom())).toBeGreaterThan(300);
  expect(await blocksRead(snapshotFrom(floors[0]?.queueFloor))).toBeLessThan(100);
  expect(await blocksRead((on) => findLaneStatuses(on, lane.chain, floors))).toBeLessThan(50);
  expect(await blocksRead((on) => queueLengths(on, lane.chain, floors))).toBeLessThan(50);
  await endTransaction();
  const seen = { queued: 1, hasUnfinalized: true, blockFloor: 6_000n, queueFloor: floors[0]?.queueFloor };
  expect(floors).toMatchObject([seen]);
  expect(await findLaneStatuses(store, lane.chain, floors)).toMatchObject([seen]);
  expect(await unfinalizedFrom(6_000n)(store)).toMatchObject([{ blockNumber: 6_000n }]);
  expect(await queueLengths(store, lane.chain, floors)).toMatchObject([{ queued: 1 }]);
  const { senders } = await snapshotFrom(floors[0]?.queueFloor)(store);
  expect(senders.flatMap(({ queued }) => queued)).toMatchObject([{ id }]);
});

describe("the floor, while a submission gets a nonce below it", () => {
  let late: NewSubmission;
  const sign = (on: Store) => TRANSITION_TO.signed(on, lane, late.id, 4_700n);
  const raise = (on: Store) => raiseNonceFloor(on, lane, 9_000n);

  const isWaiting = async () =>
    (await store.pool.query("select from pg_locks where not granted")).rowCount !== 0;

  /** Commits the first statement, which has its snapshot and its lock, once the second waits for it. */
  async function runBehind(first: (on: Store) => Promise<unknown>, second: (on: Store) => Promise<unknown>) {
    const { pool } = store;
    const connection = await pool.connect();
    await connection.query("begin");
    const onConnection = {
      ...store,
      pool: { ...pool, query: connection.query.bind(connection) } as Store["pool"],
    };
    await first(onConnection);
    const waiting = second(store);
    await vi.waitUntil(isWaiting, { interval: 5, timeout: 60_000 });
    await connection.query("commit");
    connection.release();
    await waiting;
  }

  beforeEach(async () => {
    await store.pool.query("delete from unfinished; update lanes set nonce_floor = 100");
    await createSubmission("signed", store, lane, newSubmissionOf(2), 9_000n);
    late = newSubmissionOf(3);
    await createSubmission("queued", store, lane, late);
  });

  it("is not raised above the nonce", async () => {
    await runBehind(sign, raise);
    expect(await floor()).toBe(4_600);
  });

  it("goes down to the nonce where it was raised a moment before", async () => {
    await runBehind(raise, sign);
    expect(await floor()).toBe(4_700);
  });

  it("goes down before the submission is touched, so that no write which waits for that one is in the way", async () => {
    await raise(store);
    const connection = await store.pool.connect();
    await connection.query("begin");
    await connection.query("select from lanes for share");
    const signing = sign(store);
    await vi.waitUntil(isWaiting, { interval: 5, timeout: 60_000 });
    // Another write of the lane, as `saveSigned` has begun: it would wait for the row of the submission.
    await connection.query("update unfinished set look_at = now() where id = $1", [late.id]);
    await connection.query("commit");
    connection.release();
    expect(await signing).toEqual([late.id]);
    expect(await floor()).toBe(4_700);
  });

  afterEach(async () => {
    const inFlight = await findInFlight(store, lane, { limit: 5 });
    expect(inFlight.map(({ waiverNonce }) => waiverNonce)).toEqual([4_700n, 9_000n]);
  });
});
