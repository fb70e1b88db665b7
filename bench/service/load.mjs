// The load generator. It reads the signed transactions, then runs each phase that the benchmark asks for.
//
//   node load.mjs <file of signed transactions> <address> <relay|bare|node|websocket|gateway> <API key>
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { API_KEY, sendCall } from "./shape.mjs";
import { openSocketSender } from "./socketSender.mjs";

const [file, address, kind, apiKey] = process.argv.slice(2);
/** Contestants that accept a transaction again get the load anew when it is used up: they are faster than a relay. */
const isRepeated = kind === "node" || kind === "bare";
const raws = readFileSync(file, "utf8").trimEnd().split("\n");
const agent = new Agent({ keepAlive: true, maxSockets: 512 });
const TIMEOUT_MS = 60_000;
/** The first failure. */
let failure;

/** The call, or the batch of calls, that sends transactions to a node. */
function callsOf(transactions) {
  const calls = transactions.map(sendCall);
  return calls.length === 1 ? calls[0] : `[${calls.join(",")}]`;
}

const RPC = { headers: { "content-type": "application/json" }, body: callsOf, accepted: '"result"' };

const SUBMIT = {
  url: new URL("/v1/submit", address),
  headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
  body: (transactions) => `{"transactions":["${transactions.join('","')}"]}`,
  accepted: '"success":true',
};

/** The POST requests for each kind of contestant. An answer has the text `accepted` once for each accepted transaction. */
const KINDS = {
  relay: SUBMIT,
  bare: SUBMIT,
  node: { url: new URL(address), ...RPC },
  gateway: { url: new URL(`/rpc/${apiKey}`, address), ...RPC },
};
const { send: sendTransactions, close } =
  kind === "websocket" ? await openSocketSender(address, apiKey, noteFailure) : postSender(KINDS[kind]);

/** Position of the next transaction. */
let next = 0;
const available = isRepeated ? Number.POSITIVE_INFINITY : raws.length;

/** Sends one request. `onPart` receives the count of accepted transactions in each part. @returns their sum. */
function send(batch, onPart = () => {}) {
  const from = isRepeated ? next % (raws.length - batch) : next;
  next += batch;
  return sendTransactions(raws.slice(from, from + batch), onPart);
}

/** Sends each request as a POST of its own, over connections that are kept. */
function postSender({ url, headers, body, accepted }) {
  const target = { hostname: url.hostname, port: url.port, path: url.pathname, method: "POST", agent };
  const post = (transactions, onPart) => {
    const text = body(transactions);
    return new Promise((resolve) => {
      let answer = "";
      let count = 0;
      let searched = 0;
      const sent = request(
        { ...target, headers: { ...headers, "content-length": Buffer.byteLength(text) } },
        (response) => {
          response.setEncoding("utf8");
          response.on("data", (part) => {
            answer += part;
            const before = count;
            for (
              let at = answer.indexOf(accepted, searched);
              at >= 0;
              at = answer.indexOf(accepted, searched)
            ) {
              count++;
              searched = at + accepted.length;
            }
            if (count > before) onPart(count - before);
          });
          response.on("end", () => {
            if (count < transactions.length) noteFailure(answer);
            resolve(count);
          });
          response.on("error", failed);
        },
      );
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error("no answer in time")));
      sent.on("error", failed);
      sent.end(text);
      function failed(error) {
        noteFailure(error.message);
        resolve(count);
      }
    });
  };
  return { send: post, close: () => agent.destroy() };
}

/** Posts over a connection that is kept. @returns the answer's text. */
function postText({ hostname, port, pathname: path }, headers, body) {
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path, method: "POST", agent };
    const sent = request(
      { ...options, headers: { ...headers, "content-length": Buffer.byteLength(body) } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => {
          text += part;
        });
        response.on("end", () => resolve(text)).on("error", reject);
      },
    );
    sent.on("error", reject).end(body);
  });
}

/** Posts, and waits for the whole answer. @returns the time in ms. */
async function timeOf(url, headers, body, accepted) {
  const from = performance.now();
  const text = await postText(url, headers, body);
  const ms = performance.now() - from;
  if (!text.includes(accepted)) noteFailure(text);
  return ms;
}

/** Returns the height of the block with the most transactions among the last ones. */
async function fullestBlock(node) {
  const read = async (method, params) =>
    JSON.parse(await postText(node, RPC.headers, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })))
      .result;
  const head = Number(await read("eth_blockNumber", []));
  let fullest = { number: "0x1", transactions: [] };
  for (let height = Math.max(1, head - SEARCHED_BLOCKS); height <= head; height++) {
    const block = await read("eth_getBlockByNumber", [`0x${height.toString(16)}`, false]);
    if (block.transactions.length > fullest.transactions.length) fullest = block;
  }
  return fullest.number;
}

function noteFailure(text) {
  failure ??= text.slice(0, 500);
}

const SEARCHED_BLOCKS = 100;

const PHASES = {
  /** A closed loop: `connections` requests are always in flight. The phase ends with the last answer. */
  async saturate({ batch, connections, seconds, transactions = Number.POSITIVE_INFINITY }) {
    const first = next;
    const limit = Math.min(available, first + transactions);
    const latencies = [];
    const start = performance.now();
    let count = 0;
    const worker = async () => {
      while (next + batch <= limit && performance.now() - start < seconds * 1_000) {
        const from = performance.now();
        // In two steps: `count += await …` would read the count before it waits, and lose what others add meanwhile.
        const added = await send(batch);
        count += added;
        latencies.push(performance.now() - from);
      }
    };
    await Promise.all(Array.from({ length: connections }, worker));
    const ms = performance.now() - start;
    return {
      transactions: count,
      failed: next - first - count,
      ms,
      perSecond: (count / ms) * 1_000,
      ...quantiles(latencies),
    };
  },
  /**
   * An open loop: requests are due at a fixed rate, and each latency counts from the due moment. So a stall of the
   * service raises the latencies of all requests that it delays.
   */
  async offer({ perSecond, seconds }) {
    const total = Math.min(available - next, perSecond * seconds);
    const interval = 1_000 / perSecond;
    const latencies = [];
    let count = 0;
    const inFlight = [];
    const start = performance.now() + 10;
    for (let i = 0; i < total; ) {
      const now = performance.now();
      for (; i < total && start + i * interval <= now; i++) {
        const due = start + i * interval;
        const done = send(1, () => latencies.push(performance.now() - due));
        inFlight.push(
          done.then((added) => {
            count += added;
          }),
        );
      }
      // Sleep as long as possible: a busy load generator takes processor time from the contestant.
      const waitMs = Math.max(1, start + i * interval - performance.now());
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    await Promise.all(inFlight);
    const ms = performance.now() - start;
    return {
      perSecond,
      transactions: count,
      failed: total - count,
      achieved: (count / ms) * 1_000,
      ...quantiles(latencies),
    };
  },
  /**
   * Sends and reads in turn, one at a time, so that whatever else the machine does meets all alike: sends by
   * `POST /v1/submit` and through the gateway, a read that changes from the node and through the gateway, and the node's
   * fullest block with its transactions, from the node and from the gateway, which remembers it.
   */
  async inTurn({ turns, seconds, nodeUrl }) {
    const { gateway, relay } = KINDS;
    const headers = { ...relay.headers, authorization: `Bearer ${API_KEY}` };
    const rpc = (url, method, params) =>
      timeOf(url, RPC.headers, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), '"result"');
    const node = new URL(nodeUrl);
    const block = [await fullestBlock(node), true];
    const latencies = {
      ...{ submit: [], gatewaySend: [], nodeRead: [], gatewayRead: [] },
      ...{ nodeBlock: [], gatewayRemembered: [] },
    };
    const start = performance.now();
    for (let i = 0; i < turns && next + 2 <= available && performance.now() - start < seconds * 1_000; i++) {
      const [first, second] = raws.slice(next, next + 2);
      next += 2;
      const count = [`0x${i.toString(16).padStart(40, "0")}`, "latest"];
      latencies.submit.push(await timeOf(relay.url, headers, relay.body([first]), relay.accepted));
      latencies.gatewaySend.push(await timeOf(gateway.url, RPC.headers, callsOf([second]), RPC.accepted));
      latencies.nodeRead.push(await rpc(node, "eth_getTransactionCount", count));
      latencies.gatewayRead.push(await rpc(gateway.url, "eth_getTransactionCount", count));
      latencies.nodeBlock.push(await rpc(node, "eth_getBlockByNumber", block));
      latencies.gatewayRemembered.push(await rpc(gateway.url, "eth_getBlockByNumber", block));
    }
    return Object.fromEntries(Object.entries(latencies).map(([name, list]) => [name, quantiles(list)]));
  },
  failure: () => failure,
  async end() {
    close();
    setImmediate(() => process.disconnect());
    return {};
  },
};

function quantiles(latencies) {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

process.on("message", async ({ ask, ...options }) => process.send({ answer: await PHASES[ask](options) }));
process.send({ url: address });
