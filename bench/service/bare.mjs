// The least that a durable relay does for a request: it stores the transactions in one row, and has the node take them. It checks and
// signs nothing, and answers once. The database and the client of the node are those of the service.
//
//   node bare.mjs <the node's address> <data folder>
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { pino } from "pino";
import { createPoster } from "../../packages/server/dist/chain/rpc/httpPoster.js";
import { prepared } from "../../packages/server/dist/store/database/statements.js";
import { openStore } from "../../packages/server/dist/store/store.js";
import { answerBenchmark } from "./contestant.mjs";
import { sendCall } from "./shape.mjs";

const [rpcUrl, dataDir] = process.argv.slice(2);
const ending = new AbortController();
const node = createPoster(rpcUrl, { rpcTimeoutMs: 10_000, signal: ending.signal });
const store = await openStore({ dataDir }, pino({ level: "silent" }));
await store.pool.query("create table if not exists bare (id uuid primary key, transactions text)");
await store.pool.query("truncate bare");

async function carry({ transactions }) {
  const id = randomUUID();
  await store.pool.query(prepared("insert into bare values ($1, $2)", [id, transactions.join()]));
  const { text } = await node.post(`[${transactions.map(sendCall).join()}]`);
  const hashes = JSON.parse(text).map(({ result }) => result);
  return hashes.map((txHash, index) => `${JSON.stringify({ index, id, success: true, txHash })}\n`).join("");
}

const server = createServer(async (request, response) => {
  const lines = await carry(await json(request));
  response.setHeader("content-type", "application/x-ndjson").end(lines);
});
server.listen(0, "127.0.0.1", () =>
  answerBenchmark({
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      ending.abort();
      await store.close();
    },
  }),
);
