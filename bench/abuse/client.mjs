// The good client: requests of one transaction at a fixed rate, each timed from the moment it was due.
//
//   node client.mjs <the service's address> <its first user's number>
import { Agent, request as open } from "node:http";
import { present } from "../service/contestant.mjs";
import { GOOD_KEY, signedBy } from "./shape.mjs";

const [url, first] = process.argv.slice(2);
const EVERY_MS = 50;
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${GOOD_KEY}`, "content-type": "application/json" };

let user = Number(first);
let timer;
let times = [];
let failures = [];
const underWay = new Set();

/** One request; resolves with why it failed. */
function submit() {
  const body = JSON.stringify({ transactions: [signedBy(user++)] });
  return new Promise((resolve) => {
    const sent = open(`${url}/v1/submit`, { method: "POST", headers, agent }, async (response) => {
      try {
        let text = "";
        for await (const part of response.setEncoding("utf8")) text += part;
        const isWell = response.statusCode === 200 && JSON.parse(text).success === true;
        resolve(isWell ? undefined : `${response.statusCode} ${text}`);
      } catch (error) {
        resolve(String(error));
      }
    });
    sent.on("error", (error) => resolve(String(error)));
    sent.end(body);
  });
}

async function one(due) {
  const failure = await submit();
  if (failure !== undefined) failures.push(failure);
  times.push(performance.now() - due);
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;

present({
  url,
  close: async () => agent.destroy(),
  answers: {
    begin() {
      times = [];
      failures = [];
      let due = performance.now();
      timer = setInterval(() => {
        for (; due <= performance.now(); due += EVERY_MS) {
          const sent = one(due);
          underWay.add(sent);
          sent.finally(() => underWay.delete(sent));
        }
      }, EVERY_MS);
      return {};
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      const sorted = times.toSorted((a, b) => a - b);
      return {
        requests: times.length,
        failures: failures.length,
        failure: failures[0],
        p50: at(sorted, 0.5),
        p99: at(sorted, 0.99),
        max: sorted.at(-1) ?? null,
      };
    },
  },
});
