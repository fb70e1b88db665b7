// Generates load: batches of eth_sendRawTransaction over persistent connections, and evm_mine whenever a block is full.
// Prints its result as JSON.
//
//   node client.mjs <url> <the node's process id> <wrapped|plain> <transactions> <warm-up transactions>
import { Agent, request } from "node:http";
import { cpuMsOf } from "./cpuTime.mjs";
import { LOADS, signersOf } from "./load.mjs";
import { BATCH, BLOCK, CONNECTIONS } from "./shape.mjs";

const [url, pid, kind, count, warm] = process.argv.slice(2);
const total = Number(count);
const warmUp = Number(warm);
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** The bodies are made before the measurement, so that only the node is measured. */
const batches = [];
for (let from = 0; from < warmUp + total; from += BATCH) {
  const raws = LOADS[kind](from, Math.min(BATCH, warmUp + total - from));
  batches.push(
    JSON.stringify(
      raws.map((raw, id) => ({ jsonrpc: "2.0", id, method: "eth_sendRawTransaction", params: [raw] })),
    ),
  );
}
const nonces = () => Promise.all(signersOf(kind).map((account) => nonceOf(account)));
await run(batches.splice(0, warmUp / BATCH));
const before = await nonces();
const cpuBefore = cpuMsOf(pid);
const start = performance.now();
await run(batches);
const ms = performance.now() - start;
const cpuMs = cpuBefore === undefined ? undefined : cpuMsOf(pid) - cpuBefore;

const after = await nonces();
const used = after.reduce((sum, nonce, i) => sum + nonce - before[i], 0);
// A wrapped transaction uses two nonces: the waiver's and the user's.
const expected = kind === "wrapped" ? 2 * total : total;
if (used !== expected) throw new Error(`${used} nonces were used, not ${expected}: some did not run`);
agent.destroy();
console.log(
  JSON.stringify({
    kind,
    transactions: total,
    ms,
    perSecond: (total / ms) * 1000,
    // The CPU time is the node's alone, so that other load on the machine counts less.
    perCpuSecond: cpuMs && (total / cpuMs) * 1000,
  }),
);

/** Sends the batches of each block at once, each over its own connection, and then mines the block. */
async function run(bodies) {
  for (let i = 0; i < bodies.length; i += BLOCK / BATCH) {
    await Promise.all(bodies.slice(i, i + BLOCK / BATCH).map(send));
    await call("evm_mine");
  }
}

async function send(body) {
  const answers = JSON.parse(await post(body));
  for (const { error } of answers) if (error) throw new Error(`refused: ${error.message}`);
}

async function nonceOf(account) {
  return Number(await call("eth_getTransactionCount", account, "latest"));
}

async function call(method, ...params) {
  const { result, error } = JSON.parse(await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })));
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

function post(body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve(text));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
