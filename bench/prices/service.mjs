// The service whose prices are measured, in a process of its own.
//
//   node service.mjs <the node's address> <data folder>
import { answerBenchmark } from "../service/contestant.mjs";
import { startService, UNLIMITED } from "../startService.mjs";

const [rpcUrl, dataDir] = process.argv.slice(2);
const limits = { readRatePerSecond: UNLIMITED, readBurst: UNLIMITED };
const { server, url } = await startService({ rpcUrl, dataDir, ...limits });
answerBenchmark({ url, close: () => server.close() });
