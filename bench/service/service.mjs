// The service on its embedded PostgreSQL, with that database's own settings (fsync on).
//
//   node service.mjs <the node's address> <data folder> <configured|created|gateway>
import { createConnection } from "../../packages/server/dist/store/database/database.js";
import { embeddedConnection } from "../../packages/server/dist/store/server/embedded.js";
import { startService, UNLIMITED } from "../startService.mjs";
import { answerBenchmark } from "./contestant.mjs";
import { API_KEY, GATEWAY_KEY } from "./shape.mjs";
import { startProfile, stopProfile } from "./stages.mjs";

const [rpcUrl, dataDir, keyKind] = process.argv.slice(2);
const ADMIN_TOKEN = "benchmark-token-5b1f0d7e93a2c846f1";

const { server, url } = await startService({
  rpcUrl,
  dataDir,
  publicApiKeys: [GATEWAY_KEY],
  gatewayRatePerSecond: UNLIMITED,
  gatewayAddressRatePerSecond: UNLIMITED,
  adminTokens: [{ name: "benchmark", token: ADMIN_TOKEN }],
  queueCapacity: UNLIMITED,
  keyQueueShare: 1,
  maxInFlight: 20_000,
});
const KEYS = { created: createKey, gateway: () => GATEWAY_KEY, configured: () => API_KEY };
const apiKey = await KEYS[keyKind]();
answerBenchmark({
  url,
  close: () => server.close(),
  answers: { settled, storeUsage, startProfile, stopProfile, apiKey: () => apiKey },
});

/** Creates an API key as an operator does. Its senders have the default caps. */
async function createKey() {
  const admin = await server.listenAdmin({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(`${admin.url}/admin/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ label: "benchmark" }),
  });
  if (answer.status !== 201) throw new Error(`the key was not created: ${await answer.text()}`);
  return (await answer.json()).key;
}

/** Resolves when every submission is finished. An answered one may still wait for its block. */
function settled() {
  return withClient(async (client) => {
    for (;;) {
      const { rowCount } = await client.query("select from unfinished limit 1");
      if (rowCount === 0) return {};
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

/** The bytes of WAL and the transaction ids since the database was made, and the bytes and rows of outcomes. */
function storeUsage() {
  return withClient(async (client) => {
    const { rows } = await client.query(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
         pg_snapshot_xmax(pg_current_snapshot())::text::float8 as "transactionIds",
         (select sum(pg_total_relation_size(oid))::float8 from pg_class
            where relkind = 'r' and relname like 'finished%') as "outcomeBytes",
         (select count(*)::float8 from finished) as outcomes`,
    );
    return rows[0];
  });
}

async function withClient(run) {
  const client = createConnection(await embeddedConnection(dataDir));
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
