// The service with waivers whose custody is slow: each signature takes a while, and a key has a limit for any second.
//
//   node service.mjs <the node's address> <data folder> <number of waivers>
import { privateKeyAccount } from "../../packages/protocol/dist/index.js";
import { CustodyThrottledError } from "../../packages/server/dist/index.js";
import { answerBenchmark } from "../service/contestant.mjs";
import { startService, UNLIMITED } from "../startService.mjs";
import { KEY_LIMIT, SIGNATURE_MS, waiverKeyOf } from "./shape.mjs";

const [rpcUrl, dataDir, count] = process.argv.slice(2);
const calls = { signed: 0, throttled: 0 };
let open = () => {};
/** The custody answers nothing before the queue is full. */
const opened = new Promise((resolve) => {
  open = resolve;
});

/** A custody that refuses more calls for a key than its limit within any second. */
function slowCustody(i) {
  const { address, sign } = privateKeyAccount(waiverKeyOf(i));
  const recent = [];
  return {
    address,
    async sign(hash) {
      await opened;
      const now = performance.now();
      while (recent[0] <= now - 1_000) recent.shift();
      if (recent.length >= KEY_LIMIT) {
        calls.throttled++;
        throw new CustodyThrottledError();
      }
      recent.push(now);
      calls.signed++;
      await new Promise((resolve) => setTimeout(resolve, SIGNATURE_MS));
      return sign(hash);
    },
  };
}

const { server, url } = await startService({
  rpcUrl,
  dataDir,
  waivers: Array.from({ length: Number(count) }, (_, i) => slowCustody(i)),
  queueCapacity: UNLIMITED,
  maxQueueMs: 3_600_000,
  requestTimeoutMs: 500,
  custodyRatePerSecond: KEY_LIMIT,
  custodyTimeoutMs: 600_000,
  logLevel: "error",
});
answerBenchmark({
  url,
  close: () => server.close(),
  answers: { open: () => open(), calls: () => ({ ...calls }) },
});
