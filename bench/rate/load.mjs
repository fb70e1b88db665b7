// The load generator of a fixed rate: requests of one transaction. Each latency counts from the due moment
// to the result line, so that a stall raises those of all requests that it delays.
//
//   node load.mjs <the service's address> [<API key> <number of its first user>]
import { Agent, request } from "node:http";
import { createHistogram } from "node:perf_hooks";
import { answerBenchmark } from "../service/contestant.mjs";
import { API_KEY } from "../service/shape.mjs";
import { signed } from "../signed.mjs";
import { Slowest } from "./slowest.mjs";

const [service, apiKey = API_KEY, firstUser = "0"] = process.argv.slice(2);
const url = new URL("/v1/submit", service);
const agent = new Agent({ keepAlive: true, maxSockets: 512 });
const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
const target = { hostname: url.hostname, port: url.port, path: url.pathname, method: "POST", agent, headers };
const TIMEOUT_MS = 60_000;
const SHARES = [50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100];

/** The latencies of all offers since `begin`. */
const all = createHistogram();
const quantilesOf = (histogram) =>
  Object.fromEntries(
    SHARES.map((share) => [share === 100 ? "max" : `p${share}`, histogram.percentile(share) / 1_000]),
  );

/** Transactions that are signed before they are due; the others are signed when they are sent. */
let prepared = [];
let user = Number(firstUser);
const nextTransaction = () => prepared.pop() ?? signed(user++);

/** Sends one transaction. @returns the id of its line and the line's time. Rejects if the line is none of a success. */
function send(raw) {
  return new Promise((resolve, reject) => {
    const sent = request(target, (response) => {
      let text = "";
      let at;
      response.setEncoding("utf8").on("data", (part) => {
        at ??= { now: performance.now(), time: Date.now() };
        text += part;
      });
      response.on("end", () => {
        const [, id] = /"id":"([^"]+)","success":true/.exec(text) ?? [];
        if (id === undefined) reject(new Error(text.slice(0, 300)));
        else resolve({ id, ...at });
      });
      response.on("error", reject);
    });
    sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error("no answer in time")));
    sent.on("error", reject);
    sent.end(`{"transactions":["${raw}"]}`);
  });
}

async function offer({ perSecond, seconds, slowest: count = 0 }) {
  const histogram = createHistogram();
  const slowest = new Slowest(count);
  const failures = [];
  const inFlight = new Set();
  const start = performance.now() + 10;
  const startTime = Date.now() + 10;
  const total = perSecond * seconds;
  const one = async (i) => {
    const dueAfter = (i * 1_000) / perSecond;
    const sentTime = Date.now();
    try {
      const { id, now, time } = await send(nextTransaction());
      const ms = now - start - dueAfter;
      histogram.record(Math.max(1, Math.round(ms * 1_000)));
      slowest.add({ id, ms, dueTime: startTime + dueAfter, sentTime, lineTime: time });
    } catch (error) {
      failures.push(error.message);
    }
  };
  for (let i = 0; i < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - start) * perSecond) / 1_000) + 1);
    for (; i < due; i++) {
      const sending = one(i).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    }
    const waitMs = Math.max(1, start + (i * 1_000) / perSecond - performance.now());
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  await Promise.all(inFlight);
  const achieved = ((total - failures.length) * 1_000) / (performance.now() - start);
  if (histogram.count > 0) all.add(histogram);
  const quantiles = quantilesOf(histogram);
  return { total, achieved, failed: failures.length, failure: failures[0], quantiles, slowest: slowest.list };
}

answerBenchmark({
  url: url.href,
  close: async () => agent.destroy(),
  answers: {
    begin() {
      all.reset();
      return {};
    },
    quantiles: () => quantilesOf(all),
    prepare({ count }) {
      prepared = Array.from({ length: count }, () => signed(user++));
      return {};
    },
    offer,
  },
});
