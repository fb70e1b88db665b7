import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { bytes, createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../accept/accept.js";
import { acceptCapped } from "../accept/acceptCapped.js";
import { acceptSigned } from "../accept/acceptSigned.js";
import { findFinishedByHash } from "../accept/readAccess.js";
import { inTransaction } from "../database/transaction.js";
import { findLastFinalInclusion } from "../lanes/blocks/inclusions.js";
import type { HeldLane } from "../lanes/heldLane.js";
import { findFailedPredecessors, findLowestNoncesElsewhere } from "../lanes/nonces/missingNonces.js";
import { hasLostNonces } from "../rewind.js";
import type { Queryable, Store } from "../store.js";
import { HIGHEST_ID, LOWEST_ID, listSubmissions } from "../submissions/listSubmissions.js";
import { findSenderSubmissions } from "../submissions/senderSubmissions.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** The queries that accept, or read the recent days, and are planned once in a session. Each runs with a user of its own. */
const QUERIES: Readonly<Record<string, (store: Store, user: number) => Promise<unknown>>> = {
  accept: (db, user) => accept(db, place(), [newSubmissionOf(user)], false),
  "accept, repeated": (db, user) => accept(db, place(), [newSubmissionOf(user)], true),
  "acceptCapped, repeated": (db, user) =>
    acceptCapped(db, place(), [{ ...newSubmissionOf(user), caps: CAPS }], true),
  acceptSigned: (db, user) => acceptSigned(db, lane, lane.owner, [newSubmissionOf(user)], [signed(user)]),
  findSenderSubmissions: (db, user) =>
    findSenderSubmissions(db, lane.chain, [{ sender: sender(user), nonce: 0n }]),
  findFailedPredecessors: async (db, user) => {
    const waiting = newSubmissionOf(user, 1);
    await accept(db, place(), [waiting], false);
    return await findFailedPredecessors(db, [{ id: waiting.id, missing: 0n }]);
  },
  findLowestNoncesElsewhere: (db, user) =>
    findLowestNoncesElsewhere(db, lane, { senders: [{ sender: sender(user), next: 0n }], except: [] }),
  findFinishedByHash: (db, user) =>
    findFinishedByHash(db, { chain: lane.chain, keyId: "reader", innerHash: bytes(32, user) }),
  "listSubmissions, of a sender": (db, user) =>
    listSubmissions(db, { ...LIST, chain: lane.chain, sender: sender(user) }),
  "listSubmissions, of a transaction": (db, user) =>
    listSubmissions(db, { ...LIST, chain: lane.chain, innerHash: bytes(32, user) }),
  findLastFinalInclusion: (db) => findLastFinalInclusion(db, lane),
  hasLostNonces: (db, user) => hasLostNonces(db, lane.chain, [{ account: sender(user), next: 0n }]),
};

const LIST = {
  keyId: "key",
  states: ["queued", "included", "failed"],
  sender: undefined,
  innerHash: undefined,
  onlyFinished: false,
  from: LOWEST_ID,
  before: HIGHEST_ID,
  limit: 10,
} as const;
const CAPS = { transactions: 1_000_000 };
const place = () => ({ chain: lane.chain, origin: lane.owner });
const sender = (user: number) => newSubmissionOf(user).sender;
const signed = (user: number) => ({
  waiverNonce: BigInt(user),
  wrapperHash: bytes(32, user),
  wrapperRaw: bytes(200, user),
});

/**
 * The days in which a query may be planned. PostgreSQL counts a day's outcomes for the first time at some 50, and every session plans
 * again then. It takes a day without outcomes that it never counted for one of some size.
 */
const DAYS = [
  ["never counted", { outcomes: 500 }],
  ["counted before", { outcomes: 0, counted: "before" }],
  ["counted before", { outcomes: 60, counted: "before" }],
  ["counted after", { outcomes: 20, counted: "after" }],
  ["counted after", { outcomes: 100, counted: "after" }],
] as const;

/** As autovacuum does. */
const COUNT = "analyze finished, unfinished, readers, sender_nonces";

describe.each(Object.entries(QUERIES))("%s", (_name, query) => {
  it.each(DAYS)(
    "reads few rows of a store that has grown since it was planned: %s, %o",
    async (_when, { outcomes, ...day }) => {
      const counted = "counted" in day ? day.counted : "never";
      if (counted === "before") await store.pool.query(COUNT);
      await insertOutcomes(store.pool, 1, outcomes);
      if (counted === "after") await store.pool.query(COUNT);

      const read = await inTransaction(store, async (pool) => {
        const db = { ...store, pool } as unknown as Store;
        await pool.query("discard plans");
        await query(db, 1);
        await insertOutcomes(pool, outcomes + 1, outcomes + 800);
        const before = await rowsRead(pool);
        await query(db, 2);
        return (await rowsRead(pool)) - before;
      });
      expect(read).toBeLessThan(10);
    },
  );
});

const DAY = uuidv7();

/**
 * Inserts outcomes of other senders into the day, half of them included with increasing nonces of the lane. A second key may read
 * them all, and the senders have outcomes in the summarized days.
 */
async function insertOutcomes(pool: Queryable, first: number, last: number): Promise<void> {
  const values = [DAY.slice(0, 24), lane.chain, Buffer.from(lane.waiver), first, last];
  await pool.query(
    `with numbers as (
       select n, n % 2 = 0 as ran, ($1::text || lpad(to_hex(n), 12, '0'))::uuid as id, decode(lpad(to_hex(n), 40, '0'), 'hex') as sender
       from generate_series($4::integer, $5::integer) n
     ), read as (
       insert into readers (submission, key_id) select id, 'reader' from numbers
     ), summarized as (
       insert into sender_nonces (chain, sender, next, last_day) select $2, sender, 0, now() from numbers
     )
     insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, waiver_nonce, block_number,
                           block_hash, error_reason, signings, accepted_at)
     select id, $2, 'key', (case when ran then 'included' else 'failed' end)::submission_state, sha256(n::text::bytea), sender, 0, $3, $3,
            case when ran then n end, case when ran then n end, case when ran then sha256(n::text::bytea) end,
            case when ran then null else 'NODE_REFUSED' end, 1, now()
     from numbers`,
    values,
  );
}

/** Returns the number of rows that the connection's open transaction has read in all tables, along indexes or not. */
async function rowsRead(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ read: string }>(
    `select sum(seq_tup_read + coalesce(idx_tup_read, 0)) as read from pg_stat_xact_user_tables t cross join lateral (
       select sum(pg_stat_get_xact_tuples_returned(indexrelid)) as idx_tup_read from pg_index where indrelid = relid) i`,
  );
  return Number(rows[0]?.read);
}
