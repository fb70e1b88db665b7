// The process that makes trouble. It signs its transactions first, and sends them in requests of 100.
//
//   node troublemaker.mjs <the service's address>
import { Agent, request } from "node:http";
import { answerBenchmark } from "../service/contestant.mjs";
import { ATTACKERS_KEY, CLIENT_KEY } from "./shape.mjs";
import { TROUBLES } from "./troubles.mjs";

const [url] = process.argv.slice(2);
const BATCH = 100;
/** A number above those of the client's users. */
const FIRST_USER = 1_000_000;
const agent = new Agent();

let prepared = [];
let timer;

function send(transactions, key) {
  const body = JSON.stringify({ transactions });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const sent = request(`${url}/v1/submit`, { method: "POST", headers, agent }, (response) =>
    response.resume(),
  );
  sent.on("error", () => {});
  sent.end(body);
}

function sendAll(transactions, key) {
  for (let i = 0; i < transactions.length; i += BATCH) send(transactions.slice(i, i + BATCH), key);
}

answerBenchmark({
  url,
  close: async () => {
    clearInterval(timer);
    agent.destroy();
  },
  answers: {
    prepare({ name, seconds }) {
      const { transactionsOf, intervalMs } = TROUBLES[name];
      const rounds = intervalMs === undefined ? 1 : Math.ceil((seconds * 1_000) / intervalMs);
      prepared = Array.from({ length: rounds }, (_, i) => transactionsOf(FIRST_USER * (1 + i)));
      return {};
    },
    begin({ name }) {
      const { intervalMs, isOtherKey = false } = TROUBLES[name];
      const key = isOtherKey ? ATTACKERS_KEY : CLIENT_KEY;
      const next = () => sendAll(prepared.shift() ?? [], key);
      next();
      if (intervalMs !== undefined) timer = setInterval(next, intervalMs);
      return {};
    },
  },
});
