// Prepares a store for a run: it then has the benchmark's chain, a number of finished submissions, and no unfinished one.
//
//   node prepare.mjs <data folder> <finished submissions>
import { pino } from "pino";
import { hexToBytes } from "../../packages/protocol/dist/index.js";
import { adoptChain, lastChain } from "../../packages/server/dist/store/chains.js";
import { setAnswerTimeout } from "../../packages/server/dist/store/database/database.js";
import { createDaysAhead } from "../../packages/server/dist/store/outcomes/outcomeDays.js";
import { openStore } from "../../packages/server/dist/store/store.js";
import { CHAIN_ID, GENESIS_HASH, WAIVER } from "./shape.mjs";

const [dataDir, count] = process.argv.slice(2);
const finished = Number(count);
const waiver = Buffer.from(hexToBytes(WAIVER.address.toLowerCase()));
const store = await openStore({ dataDir }, pino({ level: "silent" }));
const { pool } = store;
const storedChain = await lastChain(store);
const chain =
  storedChain?.chainRef ??
  (await adoptChain(store, { chainId: CHAIN_ID, genesisHash: hexToBytes(GENESIS_HASH) }));
const client = await pool.connect();
// Two million rows take some minutes.
setAnswerTimeout(client, 3_600_000);
await query("insert into lanes (chain, waiver) values ($1, $2) on conflict do nothing", [chain, waiver]);
await query("truncate unfinished");
// The outcomes of earlier runs go with the partitions of their days: the run begins as a new day does. Emptied ones would keep their
// statistics, and a plan for a table without pages and with the statistics of a large one reads all of it later.
const days = await query(
  "delete from finished_days where first_id > first_id_of('1970-01-01') returning partition",
);
for (const { partition } of days.rows) await query(`drop table ${partition}`);
await query("update finished_range set end_id = (select end_id from finished_days)");
await query("delete from finished where waiver_nonce >= $1", [finished]);
const { rows } = await query("select coalesce(max(waiver_nonce) + 1, 0)::int as present from finished");
const { present } = rows[0];
if (present < finished) await withoutIndexes(() => seed(present));
// The store of a service that has run for a while has statistics and no dead rows.
await query("vacuum (analyze) finished");
await createDaysAhead(client);
client.release();
// Its PostgreSQL stops with a checkpoint, so that none comes early in the run.
await store.close();
console.log("{}");

/** Drops the indexes of the partition for the time of a bulk insert, which is faster that way. */
async function withoutIndexes(run) {
  const indexes = await query(
    "select indexname, indexdef from pg_indexes where tablename = (select partition from finished_days) and indexname !~ '_pkey$'",
  );
  for (const { indexname } of indexes.rows) await query(`drop index ${indexname}`);
  await run();
  for (const { indexdef } of indexes.rows) await query(indexdef);
}

/** Inserts included submissions of the same size as the load's, in the order of their acceptance. */
function seed(first) {
  return query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver,
       waiver_nonce, signings, wrapper_hash, block_number, block_hash, gas_used, reverted, accepted_at, signed_at,
       broadcast_at, included_at, finished_at)
     select (lpad(to_hex(1700000000000 + i), 12, '0') || '7' || substr(md5('id' || i), 1, 3) || '8' ||
             substr(md5('rest' || i), 1, 15))::uuid,
       $1, 'benchmark', 'included', sha256(int8send(i)), substr(sha256('from' || int8send(i)), 1, 20), 0,
       substr(sha256('to'), 1, 20), '\\x095ea7b3', $2, i, 1, sha256('wrapper' || int8send(i)), i / 100,
       sha256(int8send(i / 100)), 46875, false, t, t, t, t, t
     from generate_series($3::bigint, $4::bigint) i, lateral (select now() - interval '1 day' + i * interval '1 millisecond' as t) s`,
    [chain, waiver, first, finished - 1],
  );
}

function query(text, values) {
  return client.query(text, values);
}
