// The service with its default limits, but for the rate of transactions, whose limit would end most attacks at once.
//
//   node --expose-gc service.mjs <the node's address> <data folder>
import { monitorEventLoopDelay } from "node:perf_hooks";
import { answerBenchmark } from "../service/contestant.mjs";
import { startService } from "../startService.mjs";
import { ATTACKERS_KEY, CLIENT_KEY, KIND_KEYS } from "./shape.mjs";

const [rpcUrl, dataDir] = process.argv.slice(2);
const SAMPLE_MS = 20;

let unhandled = 0;
process.on("unhandledRejection", (reason) => {
  unhandled++;
  console.error("unhandledRejection", reason);
});

const { server, url } = await startService({
  rpcUrl,
  dataDir,
  apiKeys: [CLIENT_KEY, ATTACKERS_KEY, ...KIND_KEYS],
  logLevel: "error",
});

const megabytes = (bytes) => bytes / 2 ** 20;
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let peak = 0;
let begun = { cpu: process.cpuUsage(), at: performance.now() };
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, SAMPLE_MS).unref();

/** The memory after a garbage collection. `heldMb` is the heap with the buffers outside it. */
function memory() {
  global.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rssMb: megabytes(rss), heldMb: megabytes(heapUsed + external) };
}

answerBenchmark({
  url,
  close: () => server.close(),
  answers: {
    begin() {
      const before = memory();
      peak = process.memoryUsage.rss();
      delay.reset();
      begun = { cpu: process.cpuUsage(), at: performance.now() };
      return before;
    },
    figures() {
      const { user, system } = process.cpuUsage(begun.cpu);
      const peakRssMb = megabytes(Math.max(peak, process.memoryUsage.rss()));
      return {
        cpuCores: (user + system) / 1_000 / (performance.now() - begun.at),
        peakRssMb,
        loopDelayMs: {
          p50: delay.percentile(50) / 1e6,
          p99: delay.percentile(99) / 1e6,
          max: delay.max / 1e6,
        },
        unhandled,
      };
    },
    memory,
  },
});
