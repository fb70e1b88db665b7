import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { NewSubmission } from "../accept/newSubmission.js";
import type { Store } from "../store.js";
import type { HeldLane } from "./heldLane.js";
import { findInFlight } from "./inFlight.js";
import { findLaneStatuses } from "./laneStatus.js";
import { ABOVE_FLOOR, raiseNonceFloor } from "./nonceFloor.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const floor = async () =>
  Number((await store.pool.query<{ f: string }>("select nonce_floor as f from lanes")).rows[0]?.f);

/** The blocks that a query by the floor reads. */
async function blocksRead(): Promise<number> {
  const sql = `explain (analyze, buffers, format json) select from unfinished where chain = $1 and waiver = $2 and ${ABOVE_FLOOR}`;
  const connection = await store.pool.connect();
  await connection.query("set enable_seqscan = off; set enable_bitmapscan = off");
  const { rows } = await connection.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(sql, [
    lane.chain,
    Buffer.from(lane.waiver),
  ]);
  connection.release(true);
  const [{ Plan: plan } = { Plan: {} }] = rows[0]?.["QUERY PLAN"] ?? [];
  return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
}

it("lets a lane pass over the dead entries that an open transaction keeps, and never over a live one", async () => {
  const open = await store.pool.connect();
  await open.query("begin isolation level repeatable read; select count(*) from unfinished");
  await store.pool.query(
    `insert into unfinished (id, chain, key_id, origin, state, inner_hash, inner_raw, sender, sender_nonce, target, waiver,
                             waiver_nonce, signings, wrapper_hash, wrapper_raw)
     select gen_random_uuid(), $1, 'key', gen_random_uuid(), 'broadcast', sha256(n::text::bytea), '', $2, n, $2, $2, n, 1,
            sha256(n::text::bytea), '' from generate_series(0, 4999) n`,
    [lane.chain, Buffer.from(lane.waiver)],
  );
  await store.pool.query("delete from unfinished");
  await store.pool.query("vacuum unfinished");
  expect(await blocksRead()).toBeGreaterThan(100);
  await raiseNonceFloor(store, lane, 5_000n);
  expect(await floor()).toBe(4_900);
  expect(await blocksRead()).toBeLessThan(20);
  await open.query("commit");
  open.release();

  // As after a restore of the chain: a nonce below the floor takes it down.
  const id = await createSubmission("signed", store, lane, newSubmissionOf(1), 4_000n);
  expect(await floor()).toBe(4_000);
  expect((await findInFlight(store, lane, { limit: 5 })).map((found) => found.id)).toEqual([id]);
  expect(await findLaneStatuses(store, lane.chain)).toMatchObject([{ inFlight: 1 }]);
  await raiseNonceFloor(store, lane, 9_000n);
  expect(await floor()).toBe(4_000);
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
    await vi.waitUntil(isWaiting, { interval: 5, timeout: 5_000 });
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
    await vi.waitUntil(isWaiting, { interval: 5, timeout: 5_000 });
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
