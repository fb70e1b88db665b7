// The well-behaved client: it sends requests of one transaction at a fixed rate, and times each from its due moment.
//
//   node client.mjs <the service's address> <its first user's number>
import { Agent, request } from "node:http";
import { answerBenchmark } from "../service/contestant.mjs";
import { signed } from "../signed.mjs";
import { CLIENT_KEY } from "./shape.mjs";

const [url, first] = process.argv.slice(2);
const INTERVAL_MS = 50;
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" };

let user = Number(first);
let timer;
let times = [];
let failures = [];
const inFlight = new Set();

/** Sends one request. Resolves with the failure, or undefined if it succeeds. */
function submit() {
  const body = JSON.stringify({ transactions: [signed(user++)] });
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/submit`, { method: "POST", headers, agent }, async (response) => {
      try {
        let text = "";
        for await (const part of response.setEncoding("utf8")) text += part;
        const succeeded = response.statusCode === 200 && JSON.parse(text).success === true;
        resolve(succeeded ? undefined : `${response.statusCode} ${text}`);
      } catch (error) {
        resolve(String(error));
      }
    });
    sent.on("error", (error) => resolve(String(error)));
    sent.end(body);
  });
}

async function measureOne(due) {
  const failure = await submit();
  if (failure !== undefined) failures.push(failure);
  times.push(performance.now() - due);
}

const quantile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;

answerBenchmark({
  url,
  close: async () => agent.destroy(),
  answers: {
    begin() {
      times = [];
      failures = [];
      let due = performance.now();
      timer = setInterval(() => {
        for (; due <= performance.now(); due += INTERVAL_MS) {
          const sent = measureOne(due);
          inFlight.add(sent);
          sent.finally(() => inFlight.delete(sent));
        }
      }, INTERVAL_MS);
      return {};
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
      const sorted = times.toSorted((a, b) => a - b);
      return {
        requests: times.length,
        failures: failures.length,
        failure: failures[0],
        p50: quantile(sorted, 0.5),
        p99: quantile(sorted, 0.99),
        max: sorted.at(-1) ?? null,
      };
    },
  },
});
