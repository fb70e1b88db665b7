import { readArguments } from "../../scripts/readArguments.mjs";
import { BLOCK } from "./shape.mjs";

export const USAGE = `Usage: npm run bench -- --of devnet [--json FILE] [--transactions N] [--rounds N]

Measures the devnet: wrapped and plain transfers per second, by its engine alone and
over HTTP (JSON-RPC batches of 100, blocks of 500), compared with anvil on the same
plain transfers; the engine's time by step; memory; and one long run of 20 times as
many wrapped transfers, at most 100,000. Takes about ten minutes with the defaults.

  --json FILE        also write every figure to FILE
  --transactions N   transactions of each run, from 1000 to 50000   (default: 5000)
  --rounds N         runs of each measurement, from 1 to 20         (default: 3)
                     The report shows their medians.
  --help             print this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    transactions: { initial: "5000", least: 2 * BLOCK, most: 50_000 },
    rounds: { initial: "3", least: 1, most: 20 },
  });
}
