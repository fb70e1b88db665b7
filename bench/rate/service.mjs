// The service of a load at a fixed rate, on its embedded PostgreSQL. It notes garbage collections and stalls of its event
// loop, and reads the times of submissions from the store.
//
//   node service.mjs <the node's address> <data folder> <requests a second to the node, or 0>
import { PerformanceObserver } from "node:perf_hooks";
import { createConnection } from "../../packages/server/dist/store/database/database.js";
import { embeddedConnection } from "../../packages/server/dist/store/server/embedded.js";
import { answerBenchmark } from "../service/contestant.mjs";
import { startService } from "../startService.mjs";

const [rpcUrl, dataDir, rpcRate] = process.argv.slice(2);
/** Shorter pauses explain no slow request. */
const PAUSE_MS = 4;
const SAMPLE_MS = 2;

const { server, url } = await startService({ rpcUrl, dataDir, rpcRatePerSecond: Number(rpcRate) });
const database = createConnection(await embeddedConnection(dataDir));
await database.connect();

/** Pauses of the main thread, each with its start and length in ms. */
const pauses = [];
new PerformanceObserver((entries) => {
  for (const { startTime, duration } of entries.getEntries()) {
    if (duration < PAUSE_MS) continue;
    pauses.push({
      kind: "garbage collection",
      from: Date.now() - performance.now() + startTime,
      ms: duration,
    });
  }
}).observe({ entryTypes: ["gc"] });
let sampledAt = performance.now();
setInterval(() => {
  const now = performance.now();
  const ms = now - sampledAt - SAMPLE_MS;
  if (ms >= PAUSE_MS) pauses.push({ kind: "busy event loop", from: Date.now() - ms, ms });
  sampledAt = now;
}, SAMPLE_MS).unref();

/** The times of submissions in ms, as the store has them. */
async function times({ ids }) {
  const { rows } = await database.query(
    `select id, encode(wrapper_hash, 'hex') as wrapper,
       extract(epoch from accepted_at)::float8 * 1000 as accepted, extract(epoch from signed_at)::float8 * 1000 as signed
     from submissions where id = any($1::uuid[])`,
    [ids],
  );
  return rows;
}

answerBenchmark({
  url,
  async close() {
    await database.end();
    await server.close();
  },
  answers: { times, pauses: () => pauses.splice(0) },
});
