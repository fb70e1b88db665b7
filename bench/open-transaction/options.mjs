import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench -- --of open-transaction [--rate N] [--seconds N] [--dead N] [--rounds N]
                                              [--keys configured,created] [--json FILE]

Measures what a transaction that stays open in the database costs: PostgreSQL removes no row
that has died since it began. In each round the service carries --dead submissions at full
speed, and then requests of one transaction at --rate a second for --seconds, which are
measured: once beside a transaction that was opened before and stays open, and once without.
At 500 a second, 300,000 submissions are those of ten minutes. The node accepts everything;
the store is an embedded PostgreSQL with fsync.

The aim is that the median is at most twice the one without the transaction.

  --rate N       requests a second, from 1 to 5,000                    (default: 500)
  --seconds N    duration of the measured load, from 1 to 3,600        (default: 10)
  --dead N       submissions before it, from 0 to 1,000,000            (default: 60000)
  --rounds N     rounds, from 1 to 20                                  (default: 2)
  --keys LIST    an API key of the configuration, or one that was created and has daily caps
                                                                       (default: configured)
  --json FILE    write every figure to this file as well               (default: none)
  --help         show this text

Status: 0 within the aim, 1 not, or something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    rate: { initial: "500", least: 1, most: 5_000 },
    seconds: { initial: "10", least: 1, most: 3_600 },
    dead: { initial: "60000", least: 0, most: 1_000_000 },
    rounds: { initial: "2", least: 1, most: 20 },
    keys: { initial: "configured", among: ["configured", "created"] },
  });
}
