import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench:tail -- [--rate N] [--seconds N] [--slowest N] [--json FILE]

Measures the time to the result line at a fixed rate of requests of one transaction, from
the moment each was due, as a histogram from p50 to p99.99; then names the causes of the
slowest requests, by the times of their stations: due, sent, arrived at the service,
accepted, signed, received by the node, result line. A pause of the service's main thread
in that time (garbage collection, or a busy event loop) is counted beside the station.
Service, node and load are processes of their own; the store is an embedded PostgreSQL with
fsync, and the node accepts everything.

  --rate N      requests a second, from 1 to 5,000            (default: 500)
  --seconds N   duration, from 1 to 3,600                     (default: 600)
  --slowest N   requests whose causes are named, to 10,000    (default: 100)
  --json FILE   write every figure to this file as well       (default: none)
  --help        show this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rate: { initial: "500", least: 1, most: 5_000 },
    seconds: { initial: "600", least: 1, most: 3_600 },
    slowest: { initial: "100", least: 1, most: 10_000 },
  });
}
