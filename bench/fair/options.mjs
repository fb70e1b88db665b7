import { readArguments } from "../../scripts/readArguments.mjs";
import { ATTACKS } from "./attacks.mjs";

const width = Math.max(...Object.keys(ATTACKS).map((name) => name.length));
const list = Object.entries(ATTACKS)
  .map(([name, { description }]) => `    ${name.padEnd(width)}  ${description}`)
  .join("\n");

export const USAGE = `Usage: npm run bench:fair -- [--json FILE] [--only LIST] [--seconds N] [--rounds N]

Measures how much one trouble delays everybody else (D30). A client sends 20 requests a
second of one transaction each, from a new sender each time: first alone, then beside the
trouble. The report has both medians and their ratio. Service, node, client and the process
that makes trouble are processes of their own; the store is an embedded PostgreSQL.

  --only LIST   the troubles                                      (default: all)
${list}
  --seconds N   duration of each part, from 1 to 120              (default: 6)
  --rounds N    runs of each trouble, from 1 to 20                (default: 1)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

Status: 0 every ratio is 2 or less; 1 one is above, or a request of the client failed;
2 wrong usage.`;

export function readOptions(argv) {
  const names = Object.keys(ATTACKS);
  return readArguments(argv, {
    only: { initial: names.join(","), among: names },
    seconds: { initial: "6", least: 1, most: 120 },
    rounds: { initial: "1", least: 1, most: 20 },
  });
}
