import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench:pair -- --other FOLDER [--rates LIST] [--beside N] [--rounds N] [--seconds N]
       [--json FILE]

Compares the service of this folder with that of another one, such as a checkout of an
earlier commit that was built (npm ci && npm run build). Both services run at the same
time, each with a node that accepts everything, a load and an embedded PostgreSQL with
fsync of its own. They take turns, so that whatever else the machine does meets both: in
each round, requests of one transaction at each rate, on the one and then on the other.
Beside them, another key sends a few: the loop's turns must cost neither of them much.
The report has the medians of the rounds and the ratios of this folder's to the other's.

  --other FOLDER  the other checkout
  --rates LIST    requests a second, separated by commas     (default: 100,500)
  --beside N      requests a second of the other key, 0 to 100 (default: 2)
  --rounds N      rounds, from 1 to 100                      (default: 6)
  --seconds N     duration of each turn, from 1 to 600       (default: 8)
  --json FILE     write every figure to this file as well    (default: none)
  --help          show this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

const MAX_RATE = 5_000;

export function readOptions(argv) {
  const options = readArguments(argv, {
    other: { initial: "" },
    rates: { initial: "100,500" },
    beside: { initial: "2", least: 0, most: 100 },
    rounds: { initial: "6", least: 1, most: 100 },
    seconds: { initial: "8", least: 1, most: 600 },
  });
  if (options.help) return options;
  if (options.other === "") throw new Error("--other needs the folder of another checkout");
  const rates = options.rates.split(",").map(Number);
  const isRate = (rate) => Number.isInteger(rate) && rate >= 1 && rate <= MAX_RATE;
  if (!rates.every(isRate)) {
    throw new Error(
      `--rates is "${options.rates}", not a list of whole numbers from 1 to ${MAX_RATE}, such as 100,500`,
    );
  }
  return { ...options, rates };
}
