import { parseArgs } from "node:util";
import { BLOCK } from "./shape.mjs";

export const USAGE = `Usage: npm run bench:devnet -- [--json FILE] [--transactions N] [--rounds N]

Measures the devnet: wrapped and plain transfers a second, by its engine alone and
over HTTP (JSON-RPC batches of 100, blocks of 500), with anvil beside it on the same
plain transfers; where the time goes; memory; and one long run of 20 times as many
wrapped transfers, at most 100,000. Takes about ten minutes with the defaults.

  --json FILE        write every figure there as well
  --transactions N   in each run, from 1000 to 50000           (default: 5000)
  --rounds N         how often each is run, from 1 to 20; medians count (default: 3)
  --help             this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      json: { type: "string" },
      transactions: { type: "string", default: "5000" },
      rounds: { type: "string", default: "3" },
      help: { type: "boolean", default: false },
    },
  });
  const problems = [];
  const transactions = integer("transactions", 2 * BLOCK, 50_000);
  const rounds = integer("rounds", 1, 20);
  if (values.json === "") problems.push("--json needs the name of a file");
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { transactions, rounds, json: values.json, help: values.help };

  function integer(name, least, most) {
    const value = /^\d+$/.test(values[name]) ? Number(values[name]) : Number.NaN;
    if (!(value >= least && value <= most)) {
      problems.push(`--${name} is "${values[name]}", not an integer from ${least} to ${most}`);
    }
    return value;
  }
}
