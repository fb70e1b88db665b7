// The client of bench:years. It sends one request at a time, and times each to the end of its answer.
//
//   node client.mjs <the service's address> <file of signed transactions> <position of the first new one>
//                   <day after the store's last> <file with the hashes of the known outcomes>
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { answerBenchmark } from "../service/contestant.mjs";
import { API_KEY } from "../service/shape.mjs";
import { BATCH, KNOWN, knownId, pastDays, REQUESTS } from "./shape.mjs";

const [url, file, first, end, hashFile] = process.argv.slice(2);
const raws = readFileSync(file, "utf8").trimEnd().split("\n");
const hashes = readFileSync(hashFile, "utf8").trimEnd().split("\n");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
const days = pastDays(end);
let next = Number(first);

/** Sends a request. @returns its time in ms. Rejects if the answer is none of a success, or `isRight` says no. */
function call(method, path, isRight, body, more = {}) {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}${path}`,
      { method, headers: { ...headers, ...more }, agent },
      async (response) => {
        let text = "";
        for await (const part of response.setEncoding("utf8")) text += part;
        const ms = performance.now() - start;
        if (response.statusCode === 200 && isRight(text)) resolve(ms);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`));
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

const allSucceed = (transactions) => (text) => text.split('"success":true').length > transactions.length;

function submit(transactions, isRight = allSucceed(transactions), more = {}) {
  return call("POST", "/v1/submit", isRight, JSON.stringify({ transactions }), more);
}

function submitKeyed(transactions) {
  return submit(transactions, allSucceed(transactions), { "idempotency-key": randomUUID() });
}

const take = (count) => {
  next += count;
  if (next > raws.length) throw new Error("the load is used up");
  return raws.slice(next - count, next);
};
/** Goes through the known outcomes in an order in which neighbours are of far days. */
const known = (i) => (i * 37) % KNOWN;
const get = (path, isRight) => call("GET", path, isRight);
const page = (query, least) => get(`/v1/submissions?${query}`, (text) => text.split('"id"').length > least);

const MEASURES = {
  "submit one": [REQUESTS.singles, () => submit(take(1))],
  "submit 100": [REQUESTS.batches, () => submit(take(BATCH))],
  "submit 100, keyed": [REQUESTS.batches, () => submitKeyed(take(BATCH))],
  "submit again (D18)": [
    REQUESTS.reads,
    (i) => submit([raws[known(i)]], (text) => text.includes(`"id":"${knownId(days, known(i))}"`)),
  ],
  "record by id": [
    REQUESTS.reads,
    (i) => get(`/v1/submissions/${knownId(days, known(i))}`, (text) => text.includes("included")),
  ],
  "list by hash": [REQUESTS.reads, (i) => page(`txHash=${hashes[known(i)]}`, 1)],
  "list, newest": [REQUESTS.reads, () => page("limit=50", 50)],
  "list of a month": [
    REQUESTS.reads,
    (i) => page(`limit=50&from=${days[i % 60]}&to=${days[(i % 60) + 30]}`, 50),
  ],
  "list, failed": [REQUESTS.reads, () => page("limit=50&state=failed", 0)],
};

answerBenchmark({
  url,
  close: async () => agent.destroy(),
  answers: {
    async measure({ name }) {
      const [count, run] = MEASURES[name];
      const times = [];
      try {
        for (let i = 0; i < count; i++) times.push(await run(i));
      } catch (error) {
        return { error: error.message };
      }
      return { times };
    },
    names: () => Object.keys(MEASURES),
  },
});
