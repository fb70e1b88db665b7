import { readArguments } from "../../scripts/readArguments.mjs";
import { ATTACKS } from "./attacks/index.mjs";
import { TROUBLES } from "./troubles.mjs";

const NAMES = [...Object.keys(ATTACKS), ...Object.keys(TROUBLES)];
const width = Math.max(...NAMES.map((name) => name.length));
const listOf = (all) =>
  Object.entries(all)
    .map(([name, { description }]) => `    ${name.padEnd(width)}  ${description}`)
    .join("\n");

export const USAGE = `Usage: npm run bench:abuse -- [--json FILE] [--only LIST] [--seconds N] [--rounds N]

Runs one attack after another on a service with its default limits, and prints the cost of
each: the service's memory before, at its peak and after, its processor time, and the delay
of its event loop. Meanwhile a well-behaved client sends 20 requests a second of one
transaction each; its failures and latencies are printed as well. "floor p50" is its median
while the same attack goes to a target that does nothing: what the machine pays for the
attacker, and the service does not. Service, node, attacker and client are processes of
their own; the store is an embedded PostgreSQL. With the defaults it takes some 15 minutes.
one-connection needs some 200 seconds for the 200,000 of each kind that the service does not
slow down.

Then it measures how much one trouble delays everybody else (D30): the same client, first
alone, then beside the trouble. The report has both medians and their ratio.

  --only LIST   attacks and troubles                              (default: all)
${listOf(ATTACKS)}

${listOf(TROUBLES)}

  --seconds N   duration of each part, from 1 to 3600             (default: 8)
  --rounds N    runs of each trouble, from 1 to 20                (default: 1)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

Status: 0 no problem was found; 1 the well-behaved client was refused, or the service logged
an error, exited or took too much memory, or a ratio is above 2; 2 wrong usage.`;

export function readOptions(argv) {
  return readArguments(argv, {
    only: { initial: NAMES.join(","), among: NAMES },
    seconds: { initial: "8", least: 1, most: 3_600 },
    rounds: { initial: "1", least: 1, most: 20 },
  });
}
