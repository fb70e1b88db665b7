import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createPastDays, dayBefore } from "../../../test/support/outcomeDays.js";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
} from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { startOutcomeDays } from "../../maintenance/outcomeDays.js";
import { StartError } from "../../model/errors.js";
import { accept } from "../accept/accept.js";
import type { NewSubmission } from "../accept/newSubmission.js";
import type { Pool } from "../database/database.js";
import { StoreUnavailableError, troubleOf } from "../database/storeTrouble.js";
import { findLastFinalInclusion, stopForLostBlocks } from "../lanes/blocks/inclusions.js";
import type { HeldLane } from "../lanes/heldLane.js";
import { findLowestNoncesElsewhere } from "../lanes/nonces/missingNonces.js";
import { readLaneSnapshot } from "../lanes/queue/laneSnapshot.js";
import { findFirstUnusedNonce } from "../lanes/queue/unfinished.js";
import { setLaneState } from "../lanes/setLaneState.js";
import type { Store } from "../store.js";
import { findSubmissions } from "../submissions/findSubmissions.js";
import { HIGHEST_ID, LOWEST_ID, listSubmissions } from "../submissions/listSubmissions.js";
import { findSenderSubmissions } from "../submissions/senderSubmissions.js";
import { saveFinal } from "../transitions/saveFinal.js";
import { dropOldDays } from "./dropDays.js";
import { createDaysAtStart, findOldDays, withPartitionsLock } from "./outcomeDays.js";
import { summarizeDay } from "./summarizeDay.js";

const DAYS = 20;
const DAY_MS = 86_400_000;
const KEEP_15_DAYS = { retentionMs: 15 * DAY_MS, dropExportedOnly: false };

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  await createPastDays(store, DAYS);
});

const place = () => ({ chain: lane.chain, origin: lane.owner });

/** A new submission whose id is of a moment so many days ago. */
const submissionBefore = (days: number, user: number, nonce: number): NewSubmission => ({
  ...newSubmissionOf(user, nonce),
  id: uuidv7({ msecs: Date.now() - days * DAY_MS }),
});

/** A submission that came so many days ago, and whose block is final. */
async function finishedBefore(days: number, user: number, nonce: number, waiverNonce: number) {
  const submission = submissionBefore(days, user, nonce);
  await createSubmission("included", store, lane, submission, BigInt(waiverNonce));
  await saveFinal(store, lane, [submission.id]);
  return submission;
}

const partitionOf = async (id: string) =>
  (
    await store.pool.query<{ name: string }>(
      "select tableoid::regclass as name from finished where id = $1",
      [id],
    )
  ).rows[0]?.name;

/** @param rest runs after each batch of senders. */
async function summarizeAll(rest = async () => {}): Promise<(string | undefined)[]> {
  const days: (string | undefined)[] = [];
  await withPartitionsLock(store, new AbortController().signal, async (db) => {
    do days.push(await summarizeDay(db, rest));
    while (days.at(-1) !== undefined);
  });
  return days.slice(0, -1);
}

/** One round of dropping, after a minute has gone by since the round before. */
async function dropRound(retention = KEEP_15_DAYS): Promise<void> {
  await store.pool.query("update finished_days set closed_at = closed_at - interval '2 minutes'");
  await withPartitionsLock(store, new AbortController().signal, (db) => dropOldDays(db, retention, silent));
}

const answerTo = async (submission: NewSubmission) => (await accept(store, place(), [submission]))[0];
const resubmitted = (submission: NewSubmission) => ({ ...submission, id: uuidv7() });

const partitions = async () =>
  (
    await store.pool.query<{ partition: string; oid: string | null }>(
      "select partition, to_regclass(partition)::oid as oid from finished_days order by first_id",
    )
  ).rows;

describe("the outcome of a submission", () => {
  it("is in the partition of the day in which the submission came, to the millisecond", async () => {
    const midnight = Date.parse(dayBefore(1));
    for (const [msecs, day] of [
      [midnight - 1, dayBefore(2)],
      [midnight, dayBefore(1)],
    ] as const) {
      const submission = { ...newSubmissionOf(90, msecs % 2), id: uuidv7({ msecs }) };
      await createSubmission("failed", store, lane, submission);
      expect(await partitionOf(submission.id)).toBe(`finished_${day.replaceAll("-", "")}`);
    }
  });

  it("has a partition while the clock of a replica is a day ahead, and is refused where it is weeks ahead", async () => {
    const ahead = submissionBefore(-1.5, 91, 0);
    await createSubmission("failed", store, lane, ahead);
    expect(await findSubmissions(store, [ahead.id])).toHaveLength(1);
    const refusal = await answerTo(submissionBefore(-30, 91, 1)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StoreUnavailableError);
    expect(troubleOf(refusal)?.kind).toBe("clock");
  });
});

describe("outcomes of summarized days", () => {
  let old: NewSubmission;
  let recent: NewSubmission;

  beforeAll(async () => {
    old = await finishedBefore(12, 1, 7, 100);
    recent = await finishedBefore(0, 1, 8, 40);
    const days = await summarizeAll();
    expect(days).toHaveLength(DAYS);
    expect(days.at(-1)).toBe(dayBefore(2));
  });

  it("are known when their InnerTx comes again, and their nonces conflict with others (D18, D20)", async () => {
    expect(await answerTo(resubmitted(old))).toMatchObject({ kind: "known", submission: { id: old.id } });
    const other = newSubmissionOf(1, 7, { value: 1n });
    expect(await answerTo(other)).toMatchObject({ kind: "conflict", with: { id: old.id } });
    expect(await answerTo(resubmitted(recent))).toMatchObject({ kind: "known" });
    expect(await answerTo(newSubmissionOf(1, 9))).toMatchObject({ kind: "accepted" });
    const found = await findSenderSubmissions(store, lane.chain, [{ sender: old.sender, nonce: 7n }]);
    expect(found.map(({ state }) => state)).toContain("included");
  });

  it("are read neither by an accept of a new nonce nor by a step of the lane", async () => {
    const reads = async () =>
      (
        await store.pool.query<{ sum: string }>(
          `select coalesce(sum(idx_scan), 0)::text as sum from pg_stat_user_indexes
           where relname = $1`,
          [`finished_${dayBefore(12).replaceAll("-", "")}`],
        )
      ).rows[0]?.sum;
    await store.pool.query("select pg_stat_force_next_flush()");
    const before = await reads();
    await answerTo(newSubmissionOf(1, 20));
    await readLaneSnapshot(store, lane, { ready: 10, due: 10 });
    await store.pool.query("select pg_stat_force_next_flush()");
    expect(await reads()).toBe(before);
  });

  it("count for the lane's nonces", async () => {
    expect((await readLaneSnapshot(store, lane, { ready: 10, due: 10 })).nextAfterIncluded).toBe(101n);
    expect(await findFirstUnusedNonce(store, lane, 0n)).toBe(101n);
    expect(await findLastFinalInclusion(store, lane)).toEqual({
      waiverNonce: 100n,
      blockNumber: 5n,
      blockHash: Buffer.from(bytes(32, 4)),
    });
  });

  it("are in the summary also when they come later", async () => {
    const late = await finishedBefore(11, 2, 3, 200);
    expect(await answerTo(resubmitted(late))).toMatchObject({ kind: "known", submission: { id: late.id } });
    expect(await findFirstUnusedNonce(store, lane, 0n)).toBe(201n);
    // A node that does not know its block yet shows the nonce as unused.
    const lowest = await findLowestNoncesElsewhere(store, lane, {
      senders: [{ sender: late.sender, next: 3n }],
      except: [],
    });
    expect([...lowest.values()]).toEqual([3n]);
  });

  it("give no nonce back to a lane that is stopped for lost blocks meanwhile", async () => {
    await store.pool.query("update finished_days set summarized_at = null where day = $1", [dayBefore(12)]);
    await store.pool.query("update lanes set old_nonce = null");
    const stopping = await store.pool.connect();
    const pool = { ...store.pool, query: stopping.query.bind(stopping) } as Store["pool"];
    const stop = async () => {
      await stopping.query("begin");
      expect(await stopForLostBlocks({ ...store, pool }, lane, 60n, "a test")).toBe(true);
    };
    const summarizing = summarizeAll(stop);
    const isWaiting = async () =>
      (await store.pool.query("select from pg_locks where not granted")).rowCount !== 0;
    await vi.waitUntil(isWaiting, { interval: 5, timeout: 60_000 });
    await stopping.query("commit");
    stopping.release();
    expect(await summarizing).toEqual([dayBefore(12)]);
    expect(await findFirstUnusedNonce(store, lane, 60n)).toBe(60n);
    await setLaneState(store, lane.chain, lane.waiver, "open");
  });

  it("are not accepted again when a write of a replica whose clock is late is repeated", async () => {
    const late = submissionBefore(10, 3, 0);
    await createSubmission("failed", store, lane, late);
    await answerTo(late).catch(() => {});
    const { rows } = await store.pool.query("select from unfinished where id = $1", [late.id]);
    expect(rows).toHaveLength(0);
  });

  it("follow the recent ones in a list, on pages of any size", async () => {
    const expected: string[] = [];
    for (const days of [14, 13, 12, 5, 4, 2, 1, 0]) {
      const submission = { ...submissionBefore(days, 30 + days, 0), keyId: "list" };
      await createSubmission(days % 2 ? "failed" : "queued", store, lane, submission);
      expected.unshift(submission.id);
    }
    for (const limit of [1, 2, 3, 4, 7, 8, 50]) {
      const ids: string[] = [];
      let before: string | undefined = HIGHEST_ID;
      while (before !== undefined) {
        const range = { from: LOWEST_ID, before, limit };
        const page = await listSubmissions(store, {
          ...{ chain: lane.chain, keyId: "list", sender: undefined, innerHash: undefined, ...range },
          states: ["queued", "signed", "broadcast", "included", "failed"],
        });
        expect(page.submissions.length).toBeLessThanOrEqual(limit);
        ids.push(...page.submissions.map(({ id }) => id));
        before = page.next;
      }
      expect(ids).toEqual(expected);
    }
    await store.pool.query("delete from unfinished where key_id = 'list'");
  });
});

describe("dropping", () => {
  it("waits for unfinished submissions, and for the export where that is asked for", async () => {
    const old = await finishedBefore(18, 50, 0, 300);
    const open = submissionBefore(19, 50, 1);
    await createSubmission("queued", store, lane, open);
    await dropRound();
    expect((await partitions())[0]).toMatchObject({
      partition: `finished_${dayBefore(DAYS + 1).replaceAll("-", "")}`,
    });
    await store.pool.query("delete from unfinished where id = $1", [open.id]);
    const exportedOnly = { ...KEEP_15_DAYS, dropExportedOnly: true };
    for (let i = 0; i < 2; i++) await dropRound(exportedOnly);
    expect((await partitions()).at(0)?.partition).toBe(`finished_${dayBefore(18).replaceAll("-", "")}`);
    expect(await findSubmissions(store, [old.id])).toHaveLength(1);
    await store.pool.query("insert into exports (partition_day, rows) values ($1, 0)", [dayBefore(18)]);
    // The outcome came after the export.
    for (let i = 0; i < 2; i++) await dropRound(exportedOnly);
    expect(await findSubmissions(store, [old.id])).toHaveLength(1);
    await store.pool.query("update exports set rows = 1");
    for (let i = 0; i < 2; i++) await dropRound(exportedOnly);
    expect((await partitions()).at(0)?.partition).toBe(`finished_${dayBefore(15).replaceAll("-", "")}`);
    expect(await findSubmissions(store, [old.id])).toEqual([]);
    // The chain's nonce decides now.
    expect(await answerTo(resubmitted(old))).toMatchObject({ kind: "accepted" });
    expect((await answerTo(submissionBefore(18, 50, 2)).catch(troubleOf)) ?? {}).toMatchObject({
      kind: "clock",
    });
  });

  it("holds up no request while a transaction reads the outcomes, and goes on after it", async () => {
    const retention = { ...KEEP_15_DAYS, retentionMs: 14 * DAY_MS };
    const { partition } = (await partitions())[0] ?? {};
    const reader = await store.pool.connect();
    await reader.query("begin");
    await reader.query("select count(*) from finished");
    await dropRound(retention);
    const dropping = dropRound(retention);
    const accepted: number[] = [];
    let over = false;
    void dropping.finally(() => {
      over = true;
    });
    for (let i = 0; !over; i++) {
      const startedAt = performance.now();
      await finishedBefore(0, 60, i, 1_000 + i);
      accepted.push(performance.now() - startedAt);
    }
    await dropping;
    // The detaching waits 2 s for the reader.
    expect(Math.max(...accepted)).toBeLessThan(1_500);
    expect(accepted.length).toBeGreaterThan(3);
    expect((await findOldDays(store.pool, retention.retentionMs))[0]).toMatchObject({
      partition,
      state: "detaching",
    });
    await reader.query("commit");
    reader.release();
    await dropRound(retention);
    expect((await partitions()).map((row) => row.partition)).not.toContain(partition);
  });

  it("goes on with a partition that was detached when the process ended, and with one that was dropped", async () => {
    const retention = { ...KEEP_15_DAYS, retentionMs: 10 * DAY_MS };
    await dropRound(retention);
    const [first, second, third] = (await partitions()).map(({ partition }) => partition);
    await store.pool.query(`alter table finished detach partition ${first}`);
    await store.pool.query(`drop table ${second}`);
    await dropRound(retention);
    const left = (await partitions()).map(({ partition }) => partition);
    for (const gone of [first, second, third]) {
      expect(left).not.toContain(gone);
      const { rows } = await store.pool.query("select to_regclass($1) as name", [gone]);
      expect(rows).toEqual([{ name: null }]);
    }
    const { rows } = await store.pool.query(
      "select count(*)::int as count from sender_nonces where last_day < $1",
      [dayBefore(12)],
    );
    expect(rows).toEqual([{ count: 0 }]);
  });
});

describe("a role that does not own the tables", () => {
  it("fails the start, and not the days after it", async () => {
    const connection = await store.pool.connect();
    await connection.query(
      "begin; create role guest; grant all on all tables in schema public to guest; set role guest",
    );
    const failure = await createDaysAtStart({ pool: connection as unknown as Pool }).catch(
      (error: unknown) => error,
    );
    connection.release(true);
    expect(failure).toBeInstanceOf(StartError);
  });
});

describe("the days of a service", () => {
  let days: ReturnType<typeof startOutcomeDays>;
  afterAll(() => days.close());

  it("are neither made nor summarized nor dropped while the clock of the database or of the machine is weeks wrong", async () => {
    await store.pool.query(`
      drop table finished_${dayBefore(-2).replaceAll("-", "")};
      delete from finished_days where day = '${dayBefore(-2)}';
      update finished_range set end_id = (select end_id from finished_days order by first_id desc limit 1)`);
    const before = await partitions();
    const options = { retentionMs: 3 * DAY_MS, dropExportedOnly: false };
    const now = () => Date.now() - 30 * DAY_MS;
    const wrong = startOutcomeDays({ store, options, log: silent, now });
    await vi.waitUntil(() => wrong.oldestDay() !== undefined, { interval: 5, timeout: 60_000 });
    await wrong.close();
    expect(await partitions()).toEqual(before);
    const { rows } = await store.pool.query("select from finished_days where closed_at is not null");
    expect(rows).toEqual([]);
  });

  it("are made ahead and summarized by itself, and it tells the oldest one", async () => {
    days = startOutcomeDays({ store, options: { retentionMs: 0, dropExportedOnly: false }, log: silent });
    await vi.waitUntil(() => days.oldestDay() !== undefined, { interval: 5, timeout: 60_000 });
    expect(days.oldestDay()).toBe(
      (await partitions())[0]?.partition.replace(/finished_(....)(..)(..)/, "$1-$2-$3"),
    );
    expect((await partitions()).at(-1)?.partition).toBe(`finished_${dayBefore(-2).replaceAll("-", "")}`);
  });
});
