// The service of bench:years on its embedded PostgreSQL, with that database's own settings (fsync on).
//
//   node service.mjs <the node's address> <data folder>
import { createConnection, Pool } from "../../packages/server/dist/store/database/database.js";
import { dropOldDays } from "../../packages/server/dist/store/outcomes/dropDays.js";
import { embeddedConnection } from "../../packages/server/dist/store/server/embedded.js";
import { answerBenchmark } from "../service/contestant.mjs";
import { startService, UNLIMITED } from "../startService.mjs";
import { DAYS } from "./shape.mjs";

const [rpcUrl, dataDir] = process.argv.slice(2);

/** The lowest id of this moment. */
function idNow() {
  const ms = Date.now().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-0000-0000-000000000000`;
}
let stepsAfter = idNow();

const startedAt = performance.now();
const { server, url } = await startService({
  rpcUrl,
  dataDir,
  readRatePerSecond: UNLIMITED,
  readBurst: UNLIMITED,
  // The benchmark drops a day itself.
  retentionMs: 0,
});
const startMs = performance.now() - startedAt;
const database = createConnection(await embeddedConnection(dataDir));
await database.connect();

answerBenchmark({
  url,
  async close() {
    await database.end();
    await server.close();
  },
  answers: { started: () => ({ startMs }), steps, settled, dropOldestDay },
});

/** The time in ms from the acceptance of a submission to its signature, of each one since the last call. */
async function steps() {
  await settled();
  const { rows } = await database.query(
    `select extract(epoch from signed_at - accepted_at)::float8 * 1000 as ms from finished
     where id > $1 and signed_at is not null`,
    [stepsAfter],
  );
  stepsAfter = idNow();
  return { times: rows.map(({ ms }) => ms) };
}

/** Drops the oldest day as the service does, without the minute between its two rounds. @returns the time in ms. */
async function dropOldestDay() {
  const pool = new Pool({ ...(await embeddedConnection(dataDir)), maxConnections: 1 });
  const connection = await pool.connect();
  const log = { info() {}, warn: (values, text) => console.error(text, values) };
  const retention = { retentionMs: (DAYS - 1) * 86_400_000, dropExportedOnly: false };
  const startedAt = performance.now();
  await dropOldDays(connection, retention, log);
  await connection.query("update finished_days set closed_at = closed_at - interval '2 minutes'");
  await dropOldDays(connection, retention, log);
  const ms = performance.now() - startedAt;
  const { rows } = await connection.query("select min(day)::text as day from finished_days");
  connection.release();
  await pool.end();
  return { ms, oldest: rows[0].day };
}

/** Resolves when every submission is finished. */
async function settled() {
  for (;;) {
    const { rowCount } = await database.query("select from unfinished limit 1");
    if (rowCount === 0) return {};
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
