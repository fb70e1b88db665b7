import { readArguments } from "../../scripts/readArguments.mjs";
import { MAX_GROWTH } from "./flatness.mjs";

export const USAGE = `Usage: npm run bench -- --of rate [--rate N] [--rpc-rate N] [--seconds N] [--slowest N]
                                   [--json FILE]

Offers the service requests of one transaction at a fixed rate, and prints for each minute the
latency of the result line from the moment each request was due, the memory of the service,
and the processor time of the service and its database. Then it prints the histogram of all
latencies from p50 to p99.99, and the causes of the slowest, by the times of their stations:
due, sent, arrived at the service, accepted, signed, received by the node, result line. A pause
of the service's main thread in that time (garbage collection, or a busy event loop) is counted
beside the station. Service, node and load are processes of their own; the store is an embedded
PostgreSQL with fsync, and the node accepts everything.

From three minutes on, the load must stay flat: from the first third of the minutes after a
warm-up (a tenth of them, 5 at most) to the last third, the median memory may grow to ${MAX_GROWTH.rssMb} times,
the p50 to ${MAX_GROWTH.p50} times and the p99 to ${MAX_GROWTH.p99} times (or by less than 2 ms).

  --rate N      requests a second, from 1 to 5,000            (default: 500)
  --rpc-rate N  most requests a second to the node, which then answers 429
                above 1,000 in 10 s, as the public endpoints  (default: 0, no limit)
  --seconds N   duration, from 1 to 86,400                    (default: 600)
  --slowest N   requests whose causes are named, to 10,000    (default: 100)
  --json FILE   write every figure to this file as well       (default: none)
  --help        show this text

Status: 0 done, and flat; 1 not flat, or something failed; 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rate: { initial: "500", least: 1, most: 5_000 },
    "rpc-rate": { initial: "0", least: 0, most: 5_000 },
    seconds: { initial: "600", least: 1, most: 86_400 },
    slowest: { initial: "100", least: 1, most: 10_000 },
  });
}
