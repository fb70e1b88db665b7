// The service of a checkout, for the load of bench:pair.
//
//   node service.mjs <the checkout's folder> <the node's address> <data folder>
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { answerBenchmark } from "../service/contestant.mjs";
import { API_KEY, CHAIN_ID, OTHER_KEY, waiverKey } from "../service/shape.mjs";
import { UNLIMITED } from "../startService.mjs";

const [folder, rpcUrl, dataDir] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(folder, "packages", path)).href);
const { TEST_TOKEN } = await load("devnet/dist/presets/index.js");
const { hexToBytes } = await load("protocol/dist/index.js");
const { createServer, privateKeyWaiver } = await load("server/dist/index.js");

// Options of all versions, so that an earlier one takes them too.
const server = await createServer({
  chainId: CHAIN_ID,
  rpcUrl,
  waivers: [privateKeyWaiver(waiverKey())],
  apiKeys: [API_KEY, OTHER_KEY],
  allowedTargets: [{ address: TEST_TOKEN, selectors: [hexToBytes("0x095ea7b3")] }],
  dataDir,
  ratePerSecond: UNLIMITED,
  rateBurst: UNLIMITED,
  queueCapacity: UNLIMITED,
  keyQueueShare: 1,
  maxInFlight: 20_000,
  logLevel: "warn",
});
const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
answerBenchmark({ url, close: () => server.close() });
