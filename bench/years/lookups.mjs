// Measures the look-ups of `gas-waiver why` on a store that fill.mjs has filled, and what its indexes cost in write-ahead log.
//
//   node lookups.mjs <data folder>
import { pino } from "pino";
import { lastChain } from "../../packages/server/dist/store/chains.js";
import { openStore } from "../../packages/server/dist/store/store.js";
import {
  findByHash,
  findBySender,
  findByWrapperPlace,
} from "../../packages/server/dist/store/submissions/findNamed.js";
import { median } from "../median.mjs";

const [dataDir] = process.argv.slice(2);
/** Look-ups of each kind; the first ones, which open the partitions' files, are not counted. */
const LOOKUPS = 60;
const WARM = 10;
/** Rows whose write-ahead log is measured, each in a transaction of its own. */
const WRITES = 400;

const store = await openStore({ dataDir }, pino({ level: "silent" }));
const { pool } = store;
const { chainRef } = await lastChain(store);
const { rows: drawn } = await pool.query(
  `select inner_hash, sender, waiver, waiver_nonce, state from finished tablesample system (2) repeatable (1) limit 40000`,
);
const rowsOf = (state) => drawn.filter((row) => row.state === state);

const LOOKUP_KINDS = {
  "hash, included": (row) => findByHash(store, chainRef, row.inner_hash),
  sender: (row) => findBySender(store, chainRef, row.sender),
  "place of a wrapper": (row) =>
    findByWrapperPlace(store, chainRef, { waiver: row.waiver, nonce: BigInt(row.waiver_nonce) }),
};
for (const [name, find] of Object.entries(LOOKUP_KINDS)) await measure(name, rowsOf("included"), find);
await measure("hash, failed", rowsOf("failed"), LOOKUP_KINDS["hash, included"]);
await measure("hash, unknown", rowsOf("included"), () =>
  findByHash(store, chainRef, crypto.getRandomValues(new Uint8Array(32))),
);
await measureIndexes();
await store.close();

async function measure(name, rows, find) {
  const times = [];
  let found = 0;
  for (let i = 0; i < LOOKUPS; i++) {
    const row = rows[Math.floor((i * rows.length) / LOOKUPS)];
    const startedAt = performance.now();
    found += (await find(row)).length;
    if (i >= WARM) times.push(performance.now() - startedAt);
  }
  const [p50, worst] = [median(times), Math.max(...times)].map((ms) => ms.toFixed(1));
  console.log(`${name.padEnd(20)} p50 ${p50} ms, worst ${worst} ms, ${found} found by ${LOOKUPS}`);
}

/** Inserts outcomes with all indexes, and without each of those that a look-up by a hash or a sender needs. */
async function measureIndexes() {
  const { rows } = await pool
    .query(
      "select partition as name from finished_days where first_id <= id_of(now()) order by day desc limit 1",
    )
    .catch(() => pool.query("select partition as name from finished_days order by day desc limit 1"));
  const [{ name }] = rows;
  const all = await logOf(name, []);
  console.log(`an included outcome: ${all} bytes of log with all indexes`);
  for (const suffix of ["_by_inner", "_failed_by_inner", "_failed_by_sender"])
    console.log(`  ${all - (await logOf(name, [`${name}${suffix}`]))} of them for ${suffix.slice(1)}`);
}

/** @returns the bytes of the write-ahead log of a row: the median, without pages that split or whose image a checkpoint asks for. */
async function logOf(partition, dropped) {
  const client = await pool.connect();
  await client.query("drop table if exists copied");
  await client.query(`create table copied (like ${partition} including all)`);
  const { rows: indexes } = await client.query(
    "select indexname, indexdef from pg_indexes where tablename = 'copied'",
  );
  const kinds = await client.query("select indexname, indexdef from pg_indexes where indexname = any($1)", [
    dropped,
  ]);
  const shapeOf = (definition) => definition.replace(/^.* USING /, "");
  for (const { indexdef } of kinds.rows)
    for (const copy of indexes.filter((one) => shapeOf(one.indexdef) === shapeOf(indexdef)))
      await client.query(`drop index ${copy.indexname}`);
  const { rows: source } = await client.query(
    `select id from finished where state = 'included' and waiver_nonce is not null order by id limit ${WRITES}`,
  );
  const bytes = [];
  for (const { id } of source) {
    const { rows: plans } = await client.query(
      `explain (analyze, wal, costs off, timing off, format json) insert into copied select * from finished where id = '${id}'`,
    );
    bytes.push(plans[0]["QUERY PLAN"][0].Plan["WAL Bytes"]);
  }
  await client.query("drop table copied");
  client.release();
  return median(bytes);
}
