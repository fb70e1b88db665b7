import { readArguments } from "../../scripts/readArguments.mjs";
import { MAX_GROWTH } from "./flatness.mjs";

export const USAGE = `Usage: npm run bench:soak -- [--rate N] [--minutes N] [--json FILE]

Offers the service requests of one transaction at a fixed rate for a long time, and prints
for each minute the memory of the service, the latency of the result line from the moment
each was due, and the processor time of the service and its database. The node accepts
everything; the store is an embedded PostgreSQL with fsync.

It is flat if, from the first third of the minutes after a warm-up (a tenth of them, 5 at
most) to the last third, the median memory grows to at most ${MAX_GROWTH.rssMb} times, the p50 to at most ${MAX_GROWTH.p50}
times and the p99 to at most ${MAX_GROWTH.p99} times (or by less than 2 ms), and nothing failed.

  --rate N      requests a second, from 1 to 5,000        (default: 1000)
  --minutes N   duration, from 3 to 1,440                 (default: 60)
  --json FILE   write every figure to this file as well   (default: none)
  --help        show this text

Status: 0 flat, 1 not, or something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rate: { initial: "1000", least: 1, most: 5_000 },
    minutes: { initial: "60", least: 3, most: 1_440 },
  });
}
