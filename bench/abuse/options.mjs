import { readArguments } from "../arguments.mjs";
import { ATTACKS } from "./attacks/index.mjs";

const width = Math.max(...Object.keys(ATTACKS).map((name) => name.length));
const list = Object.entries(ATTACKS)
  .map(([name, { what }]) => `    ${name.padEnd(width)}  ${what}`)
  .join("\n");

export const USAGE = `Usage: npm run bench:abuse -- [--json FILE] [--only LIST] [--seconds N]

Attacks a service with its default limits, one attack after another, and tells what each
costs it (memory before, at most and after; processor; how late its event loop is) and what
a good client beside it experiences: 20 requests a second of one transaction each. Service,
node, attacker and client are processes of their own; the store is an embedded PostgreSQL.
With the defaults it takes some 4 minutes.

  --only LIST   some of the attacks                               (default: all)
${list}
  --seconds N   how long each lasts, from 1 to 120                (default: 8)
  --json FILE   write every figure there as well
  --help        this text

Status: 0 nothing was wrong; 1 the good client was refused, the service logged an error,
ended, or took more memory than it may; 2 wrong usage.`;

export function readOptions(argv) {
  const names = Object.keys(ATTACKS);
  return readArguments(argv, {
    only: { initial: names.join(","), among: names },
    seconds: { initial: "8", least: 1, most: 120 },
  });
}
