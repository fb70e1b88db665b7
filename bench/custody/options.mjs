import { readArguments } from "../../scripts/readArguments.mjs";

export const USAGE = `Usage: npm run bench:custody -- [--seconds N] [--rounds N] [--json FILE]

Measures the wrappers a second of waivers whose custody takes 100 ms for a signature, and refuses
more than 300 a second for each key: with one key, and with four. Service and node are processes of
their own; the store is an embedded PostgreSQL.

  --seconds N   duration of each measurement, from 1 to 60        (default: 6)
  --rounds N    rounds, each with one key and then with four, 1 to 20  (default: 1)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

Status: 0 every rate is at least 95 % of what the custody makes; 1 one is below; 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    seconds: { initial: "6", least: 1, most: 60 },
    rounds: { initial: "1", least: 1, most: 20 },
  });
}
