import { readArguments } from "../../scripts/readArguments.mjs";
import { ATTACKS } from "./attacks/index.mjs";

const width = Math.max(...Object.keys(ATTACKS).map((name) => name.length));
const list = Object.entries(ATTACKS)
  .map(([name, { description }]) => `    ${name.padEnd(width)}  ${description}`)
  .join("\n");

export const USAGE = `Usage: npm run bench:abuse -- [--json FILE] [--only LIST] [--seconds N]

Runs one attack after another on a service with its default limits, and prints the cost of
each: the service's memory before, at its peak and after, its processor time, and the delay
of its event loop. Meanwhile a well-behaved client sends 20 requests a second of one
transaction each; its failures and latencies are printed as well. "floor p50" is its median
while the same attack goes to a target that does nothing: what the machine pays for the
attacker, and the service does not. Service, node, attacker and client are processes of
their own; the store is an embedded PostgreSQL. With the defaults it takes some 11 minutes.
one-connection needs some 200 seconds for the 200,000 of each kind that the service does not
slow down.

  --only LIST   the attacks to run                                (default: all)
${list}
  --seconds N   duration of each attack, from 1 to 3600           (default: 8)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

Status: 0 no problem was found; 1 the well-behaved client was refused, or the service logged
an error, exited or took too much memory; 2 wrong usage.`;

export function readOptions(argv) {
  const names = Object.keys(ATTACKS);
  return readArguments(argv, {
    only: { initial: names.join(","), among: names },
    seconds: { initial: "8", least: 1, most: 3_600 },
  });
}
