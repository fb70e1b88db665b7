// Fills a store with outcomes over the past days, each day in its partition, and then with the known outcomes of the load.
// A day that is filled is skipped, so an ended filling goes on.
//
//   node fill.mjs <data folder> <outcomes> <day after the last> <file of signed transactions> <file for hashes of known ones>
import { readFileSync, writeFileSync } from "node:fs";
import { pino } from "pino";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import {
  bytesToHex,
  decodeInnerTx,
  hashTransaction,
  hexToBytes,
  recoverSender,
} from "../../packages/protocol/dist/index.js";
import { identifyKeys } from "../../packages/server/dist/keys/configuredKeys.js";
import { adoptChain, lastChain } from "../../packages/server/dist/store/chains.js";
import { setAnswerTimeout } from "../../packages/server/dist/store/database/database.js";
import { summarizeDay } from "../../packages/server/dist/store/outcomes/summarizeDay.js";
import { openStore } from "../../packages/server/dist/store/store.js";
import { API_KEY, CHAIN_ID, GENESIS_HASH, WAIVER } from "../service/shape.mjs";
import { KNOWN, knownId, pastDays } from "./shape.mjs";

const [dataDir, count, today, file, hashFile] = process.argv.slice(2);
const rows = Number(count);
const days = pastDays(today);
const partitionOf = (day) => `finished_${day.replaceAll("-", "")}`;
const WORKERS = 2;
const PROGRESS_MS = 5_000;
/** Each sender has this many outcomes, spread over the days. */
const PER_SENDER = 20;
/** Every 50th outcome is a failure, and every 20th one of the benchmark's API key. */
const COLUMNS = `(id, chain, key_id, state, inner_hash, sender, sender_nonce, target, selector, waiver, waiver_nonce,
  signings, wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason, error_message, accepted_at,
  signed_at, broadcast_at, included_at, finished_at)`;

await useNativeCrypto();
const store = await openStore({ dataDir, adminConnections: WORKERS }, pino({ level: "silent" }));
const { pool } = store;
const waiver = Buffer.from(hexToBytes(WAIVER.address.toLowerCase()));
const chain =
  (await lastChain(store))?.chainRef ??
  (await adoptChain(store, { chainId: CHAIN_ID, genesisHash: hexToBytes(GENESIS_HASH) }));
const [{ keyId }] = await identifyKeys(store, [API_KEY]);
await pool.query("insert into lanes (chain, waiver) values ($1, $2) on conflict do nothing", [chain, waiver]);
// An earlier run has sent the same transactions.
await pool.query("truncate unfinished");
await pool.query("delete from finished where id >= first_id_of($1)", [today]);
await makeDays();
await fillDays();
await addKnown();
const summarySeconds = await summarizeDays();
const { rows: nonces } = await pool.query(
  "select coalesce(max(waiver_nonce) + 1, 0)::int as next from finished where chain = $1 and waiver = $2 and waiver_nonce is not null",
  [chain, waiver],
);
const { rows: sizes } = await pool.query(
  "select coalesce(sum(pg_total_relation_size(partition::regclass)) / 1e6, 0)::float8 as megabytes from finished_days",
);
// Its PostgreSQL stops with a checkpoint, so that none comes early in the measurements.
await store.close();
console.log(JSON.stringify({ nextNonce: nonces[0].next, megabytes: sizes[0].megabytes, summarySeconds }));

/** Gives each past day a partition, as the store of a service has that has run since then. */
async function makeDays() {
  const client = await pool.connect();
  await client.query("begin");
  // A new store has one partition for all the days before today.
  const { rows: first } = await client.query(
    "delete from finished_days where first_id = first_id_of('1970-01-01') returning partition",
  );
  for (const { partition } of first) await client.query(`drop table ${partition}`);
  const { rows: present } = await client.query("select partition from finished_days");
  const names = present.map(({ partition }) => partition);
  for (const day of days) {
    if (names.includes(partitionOf(day))) continue;
    await client.query("select create_finished_partition($1::date, $1::date)", [day]);
  }
  await client.query(
    "update finished_range set first_id = (select min(first_id::text)::uuid from finished_days), end_id = (select max(end_id::text)::uuid from finished_days)",
  );
  await client.query("commit");
  client.release();
}

/** Summarizes the days that the service would have summarized by now. @returns the time in seconds. */
async function summarizeDays() {
  const startedAt = performance.now();
  const client = await pool.connect();
  setAnswerTimeout(client, 3_600_000);
  await client.query("set synchronous_commit = off");
  let day;
  do day = await summarizeDay(client, async () => {});
  while (day !== undefined);
  // The day that an earlier run dropped is filled again, and summarized after the later ones.
  await client.query(
    "select set_recent_outcomes(end_id) from (select end_id from finished_days where summarized_at is not null order by day desc limit 1) d",
  );
  client.release(true);
  return (performance.now() - startedAt) / 1_000;
}

async function fillDays() {
  const queue = days.map((day, i) => ({
    day,
    from: Math.floor((rows * i) / days.length),
    to: Math.floor((rows * (i + 1)) / days.length),
  }));
  const startedAt = performance.now();
  let filled = 0;
  let printedAt = startedAt;
  const worker = async () => {
    const client = await pool.connect();
    setAnswerTimeout(client, 3_600_000);
    // A crash here loses only what this program would write again.
    await client.query("set synchronous_commit = off");
    await client.query("set maintenance_work_mem = '256MB'");
    for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
      if (!(await fillDay(client, part))) continue;
      filled += part.to - part.from;
      if (performance.now() - printedAt < PROGRESS_MS) continue;
      printedAt = performance.now();
      const perSecond = (filled * 1_000) / (performance.now() - startedAt);
      const left = queue.reduce((sum, { from, to }) => sum + to - from, 0) / perSecond / 60;
      process.stderr.write(
        `          ${part.day}: ${filled.toLocaleString("en")} rows, ${Math.round(perSecond).toLocaleString("en")} a second, about ${Math.ceil(left)} minutes left\n`,
      );
    }
    await client.query("reset all");
    client.release(true);
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

/** Fills one partition in one transaction, with its indexes made at the end. @returns whether it was empty. */
async function fillDay(client, { day, from, to }) {
  const name = partitionOf(day);
  const { rowCount } = await client.query(`select from ${name} limit 1`);
  if (rowCount > 0 || from === to) return false;
  await client.query("begin");
  const indexes = await client.query(
    "select indexname, indexdef from pg_indexes where tablename = $1 and indexname <> $1 || '_pkey'",
    [name],
  );
  for (const { indexname } of indexes.rows) await client.query(`drop index ${indexname}`);
  await insertOutcomes(client, name, { day, from, to });
  for (const { indexdef } of indexes.rows) await client.query(indexdef);
  await client.query("commit");
  // The store of a service that has run for a while has statistics, and no page that a reader has to mark.
  await client.query(`vacuum (analyze, freeze) ${name}`);
  return true;
}

/** Inserts outcomes of the size of real ones, in the order of their acceptance, spread over the day. */
function insertOutcomes(client, name, { day, from, to }) {
  return client.query(
    `insert into ${name} ${COLUMNS}
     select (lpad(to_hex(ms), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid, $1::int,
       case when i % 20 = 0 then $2 else 'key-' || i % 20 end, case when ok then 'included' else 'failed' end::submission_state,
       sha256(int8send(i)), substr(sha256('from' || int8send(i % greatest(1, $3::bigint / ${PER_SENDER}))), 1, 20),
       i / greatest(1, $3::bigint / ${PER_SENDER}), substr(sha256('to'), 1, 20), '\\x095ea7b3', $4::bytea,
       case when ok then i - i / 50 end, 1, case when ok then sha256('wrapper' || int8send(i)) end,
       case when ok then 1 end, case when ok then decode(lpad('1', 64, '0'), 'hex') end,
       case when ok then 46875 end, case when ok then false end,
       case when not ok then 'NONCE_GAP' end,
       case when not ok then 'nonce 3 is ahead of the sender''s next, 2, which did not come within 10000 ms' end,
       t, t, t, case when ok then t end, t
     from generate_series($5::bigint, $6::bigint - 1) i,
       lateral (select $7::bigint + (i - $5::bigint) * 86400000 / ($6::bigint - $5::bigint) as ms) m,
       lateral (select to_timestamp(ms / 1000.0) as t, i % 50 <> 49 as ok) s`,
    [chain, keyId, rows, waiver, from, to, Date.parse(day)],
  );
}

/** Adds outcomes of the load's first transactions, without a wrapper. */
async function addKnown() {
  const raws = readFileSync(file, "utf8").split("\n", KNOWN);
  const hashes = [];
  for (const [i, raw] of raws.entries()) {
    const tx = decodeInnerTx(hexToBytes(raw));
    const hash = hashTransaction(tx);
    hashes.push(bytesToHex(hash));
    await pool.query(
      `insert into finished ${COLUMNS}
       values ($1, $2, $3, 'included', $4, $5, $6, $7, '\\x095ea7b3', $8, null, 1, null, 1, decode(lpad('1', 64, '0'), 'hex'),
         46875, false, null, null, now(), now(), now(), now(), now()) on conflict do nothing`,
      [
        ...[
          knownId(days, i),
          chain,
          keyId,
          Buffer.from(hash),
          Buffer.from(recoverSender(tx)),
          tx.nonce.toString(),
        ],
        ...[Buffer.from(tx.to), waiver],
      ],
    );
  }
  writeFileSync(hashFile, hashes.join("\n"));
}
