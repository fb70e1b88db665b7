// The honest parties: one submits with a secret key, and wallets read under a key that everybody knows, so many that each asks for less
// than its share.
//
//   node honest.mjs <the service's address> <its first user's number>
import { Agent, request } from "node:http";
import { answerBenchmark } from "../service/contestant.mjs";
import { signed } from "../signed.mjs";
import { HONEST_KEY, HONEST_RATE, PUBLIC_KEYS, walletAddress } from "./shape.mjs";

const [url, first] = process.argv.slice(2);
/** One submission, and one call of a wallet. The wallets take turns. */
const INTERVAL_MS = 1_000 / HONEST_RATE;
/** A request that takes longer has failed. */
const TIMEOUT_MS = 20_000;
const agent = new Agent({ keepAlive: true });
let user = Number(first);
let timer;
let due = 0;
let wallets = 1;
let calls = 0;
let times = { submit: [], call: [] };
let failures = [];
const inFlight = new Set();

const PARTIES = {
  submit: () => ({
    path: "/v1/submit",
    headers: { authorization: `Bearer ${HONEST_KEY}` },
    body: { transactions: [signed(user++)] },
    isGood: (text) => JSON.parse(text).success === true,
  }),
  call: () => ({
    path: `/rpc/${PUBLIC_KEYS[0]}`,
    headers: { "x-forwarded-for": walletAddress(calls++ % wallets) },
    body: {
      ...{ jsonrpc: "2.0", id: user, method: "eth_getTransactionCount" },
      params: [`0x${(user++).toString(16).padStart(40, "0")}`, "latest"],
    },
    isGood: (text) => JSON.parse(text).result !== undefined,
  }),
};

/** Resolves with the failure, or undefined if the request succeeds. */
function post({ path, headers, body, isGood }) {
  return new Promise((resolve) => {
    const options = { method: "POST", agent, timeout: TIMEOUT_MS };
    const sent = request(
      `${url}${path}`,
      { ...options, headers: { ...headers, "content-type": "application/json" } },
      async (response) => {
        try {
          let text = "";
          for await (const part of response.setEncoding("utf8")) text += part;
          resolve(response.statusCode === 200 && isGood(text) ? undefined : `${response.statusCode} ${text}`);
        } catch (error) {
          resolve(String(error));
        }
      },
    );
    sent.on("timeout", () => sent.destroy(new Error("no answer in time")));
    sent.on("error", (error) => resolve(String(error)));
    sent.end(JSON.stringify(body));
  });
}

async function measure(party, from) {
  const failure = await post(PARTIES[party]());
  if (failure !== undefined) failures.push(`${party}: ${failure.slice(0, 300)}`);
  times[party].push(performance.now() - from);
}

function quantilesOf(list) {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.ceil(sorted.length * share) - 1] ?? null;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? null };
}

answerBenchmark({
  url,
  close: async () => process.exit(0),
  answers: {
    begin(options) {
      wallets = options.wallets;
      times = { submit: [], call: [] };
      failures = [];
      due = performance.now();
      timer = setInterval(() => {
        for (; due <= performance.now(); due += INTERVAL_MS) {
          for (const party of Object.keys(PARTIES)) {
            const sent = measure(party, due);
            inFlight.add(sent);
            sent.finally(() => inFlight.delete(sent));
          }
        }
      }, INTERVAL_MS);
      return {};
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
      return {
        submit: quantilesOf(times.submit),
        call: quantilesOf(times.call),
        failed: failures.length,
        failure: failures[0],
      };
    },
  },
});
