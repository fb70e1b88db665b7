// The service under attack, of this checkout or of another one, with its default limits but for the rate of transactions, which
// would end most attacks at once.
//
//   node service.mjs <the checkout's folder> <the node's address> <data folder>
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { answerBenchmark } from "../service/contestant.mjs";
import { CHAIN_ID, waiverKey } from "../service/shape.mjs";
import { UNLIMITED } from "../startService.mjs";
import { HONEST_KEY, PUBLIC_KEYS, SECRET_KEYS } from "./shape.mjs";

const [folder, rpcUrl, dataDir] = process.argv.slice(2);
const SAMPLE_MS = 50;
const load = (path) => import(pathToFileURL(join(folder, "packages", path)).href);
const { TEST_TOKEN } = await load("devnet/dist/presets/index.js");
const { hexToBytes } = await load("protocol/dist/index.js");
const { createServer, privateKeyWaiver } = await load("server/dist/index.js");

const server = await createServer({
  ...{ chainId: CHAIN_ID, rpcUrl, dataDir, logLevel: "fatal" },
  waivers: [privateKeyWaiver(waiverKey())],
  apiKeys: [HONEST_KEY, ...SECRET_KEYS],
  publicApiKeys: PUBLIC_KEYS,
  allowedTargets: [{ address: TEST_TOKEN, selectors: [hexToBytes("0x095ea7b3")] }],
  trustedProxies: ["127.0.0.1"],
  ratePerSecond: UNLIMITED,
  rateBurst: UNLIMITED,
});
const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
/** The time in ms that the event loop's thread was ready and had no processor; 0 where the system does not tell. */
function waitedMs() {
  try {
    return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
let peak = 0;
let from = { at: 0, waitedMs: 0 };
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, SAMPLE_MS).unref();
answerBenchmark({
  url,
  close: () => server.close(),
  answers: {
    begin() {
      peak = 0;
      from = { at: performance.now(), waitedMs: waitedMs() };
      return {};
    },
    figures: () => ({
      peakRssMb: peak / 2 ** 20,
      waited: (waitedMs() - from.waitedMs) / (performance.now() - from.at),
    }),
  },
});
