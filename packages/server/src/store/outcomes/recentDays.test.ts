import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { bytes, createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../accept/accept.js";
import { acceptSigned } from "../accept/acceptSigned.js";
import { findFinalBlocks } from "../chains.js";
import { findFailedPredecessors } from "../lanes/failedPredecessors.js";
import { findLastFinalInclusion } from "../lanes/finalInclusions.js";
import type { HeldLane } from "../lanes/heldLane.js";
import { findLowestNoncesElsewhere } from "../lanes/lowestNoncesElsewhere.js";
import { hasLostNonces } from "../rewind.js";
import type { Queryable, Store } from "../store.js";
import { findSenderSubmissions } from "../submissions/senderSubmissions.js";
import { inTransaction } from "../transaction.js";

let store: Store;
let lane: HeldLane;
useTestStore("perTest", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

/** The queries that read the recent days and are planned once in a session. Each runs with a user of its own. */
const QUERIES: Readonly<Record<string, (store: Store, user: number) => Promise<unknown>>> = {
  accept: (db, user) => accept(db, place(), [newSubmissionOf(user)], false),
  "accept, repeated": (db, user) => accept(db, place(), [newSubmissionOf(user)], true),
  acceptSigned: (db, user) => acceptSigned(db, lane, lane.owner, [signed(user)]),
  findSenderSubmissions: (db, user) =>
    findSenderSubmissions(db, lane.chain, [{ sender: sender(user), nonce: 0n }]),
  findFailedPredecessors: async (db, user) => {
    const waiting = newSubmissionOf(user, 1);
    await accept(db, place(), [waiting], false);
    return await findFailedPredecessors(db, [{ id: waiting.id, missing: 0n }]);
  },
  findLowestNoncesElsewhere: (db, user) =>
    findLowestNoncesElsewhere(db, lane, { senders: [{ sender: sender(user), next: 0n }], except: [] }),
  findLastFinalInclusion: (db) => findLastFinalInclusion(db, lane),
  findFinalBlocks: (db) => findFinalBlocks(db, lane.chain),
  hasLostNonces: (db, user) => hasLostNonces(db, lane.chain, [{ account: sender(user), next: 0n }]),
};

const place = () => ({ chain: lane.chain, origin: lane.owner });
const sender = (user: number) => newSubmissionOf(user).sender;
const signed = (user: number) => ({
  newSubmission: newSubmissionOf(user),
  waiverNonce: BigInt(user),
  wrapperHash: bytes(32, user),
  wrapperRaw: bytes(200, user),
});

/**
 * The days in which a query may be planned. PostgreSQL counts a day's outcomes for the first time at some 50, and every session plans
 * again then. It takes a day without outcomes that it never counted for one of some size.
 */
const DAYS = [
  ["never counted", { outcomes: 0 }],
  ["never counted", { outcomes: 500 }],
  ...[0, 60, 100, 200].map((outcomes) => ["counted before", { outcomes, counted: "before" }] as const),
  ...[20, 60, 100, 200].map((outcomes) => ["counted after", { outcomes, counted: "after" }] as const),
] as const;

describe.each(Object.entries(QUERIES))("%s", (_name, query) => {
  it.each(DAYS)(
    "reads little of a day that has grown since it was planned: %s, %o",
    async (_when, { outcomes, ...day }) => {
      const counted = "counted" in day ? day.counted : "never";
      if (counted === "before") await store.pool.query("analyze finished");
      await insertOutcomes(store.pool, 1, outcomes);
      if (counted === "after") await store.pool.query("analyze finished");

      const read = await inTransaction(store, async (pool) => {
        const db = { ...store, pool } as unknown as Store;
        await pool.query("discard plans");
        await query(db, 1);
        await insertOutcomes(pool, outcomes + 1, 2_500);
        const before = await outcomesRead(pool);
        await query(db, 2);
        return (await outcomesRead(pool)) - before;
      });
      // The search for final blocks goes back a thousand wrappers in eight queries.
      expect(read).toBeLessThan(query === QUERIES.findFinalBlocks ? 2_000 : 10);
    },
  );
});

const DAY = uuidv7();

/** Inserts outcomes of other senders into the day: included ones of the lane, with increasing nonces. */
async function insertOutcomes(pool: Queryable, first: number, last: number): Promise<void> {
  await pool.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, waiver_nonce, block_number,
                           block_hash, signings, accepted_at)
     select ($1::text || lpad(to_hex(n), 12, '0'))::uuid, $2, 'key', 'included', sha256(n::text::bytea),
            decode(lpad(to_hex(n), 40, '0'), 'hex'), 0, $3, $3, n, n, sha256(n::text::bytea), 1, now()
     from generate_series($4::integer, $5::integer) n`,
    [DAY.slice(0, 24), lane.chain, Buffer.from(lane.waiver), first, last],
  );
}

/** Returns the number of outcomes that the connection's open transaction has read, along indexes or not. */
async function outcomesRead(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ read: string }>(
    `select sum(seq_tup_read + idx_tup_read) as read from pg_stat_xact_user_tables t
     join pg_inherits on inhrelid = relid cross join lateral (
       select sum(pg_stat_get_xact_tuples_returned(indexrelid)) as idx_tup_read from pg_index where indrelid = relid) i
     where inhparent = 'finished'::regclass`,
  );
  return Number(rows[0]?.read);
}
