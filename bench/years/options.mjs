import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench:years -- [--rows N] [--rounds N] [--data-dir FOLDER] [--json FILE]

Fills a store with outcomes over 90 days, and measures the service on it and on an empty
store, in turns: start, submits of one and of 100 transactions, a lane's step, look-ups by
id, by hash and of a transaction that was sent before, lists, dropping the oldest day, and
the export of a day. The report has the medians and their ratios; the aim is 1.1 or less.
Stores, nodes and the client are processes of their own, with the production's indexes and
fsync. It needs about 650 bytes of disk for an outcome, and says so if there is less.

  --rows N           outcomes in the full store, from 1,000 to 200,000,000
                     (default: 20000000)
  --rounds N         rounds, from 1 to 50                            (default: 5)
  --data-dir FOLDER  keep the full store here, and use it if it is there: with as many
                     rows it is not filled again, and an ended filling goes on
                     (default: a temporary folder)
  --json FILE        write every figure to this file as well         (default: none)
  --help             show this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rows: { initial: "20000000", least: 1_000, most: 200_000_000 },
    rounds: { initial: "5", least: 1, most: 50 },
    "data-dir": { initial: "" },
  });
}
