// npm run bench -- --of crypto: measures the backends of the cryptography against each other. See --help.
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { arch, platform } from "node:process";
import { readArguments } from "../../scripts/readArguments.mjs";
import { inFolder } from "../inFolder.mjs";
import { runToEnd } from "../programs.mjs";

export const USAGE = `Usage: npm run bench -- --of crypto [--json FILE] [--rounds N]

Measures the processor time of one recovery, one signature and one Keccak-256 hash, with each
backend that loads here: the native addon, WebAssembly and pure JavaScript. They take turns
within each round. The report has the medians, and their ratios to the fastest backend.

  --rounds N    rounds, from 1 to 100                             (default: 9)
  --json FILE   write every figure to this file as well           (default: none)
  --help        show this text

Status: 0 done, 1 something failed, 2 wrong usage.`;

export const readOptions = (argv) => readArguments(argv, { rounds: { initial: "9", least: 1, most: 100 } });

export const run = ({ rounds, json }) =>
  inFolder("gas-waiver-crypto-", async ({ signal }) => {
    const program = new URL("measure.mjs", import.meta.url);
    const microseconds = await runToEnd(program, [String(rounds)], { signal });
    const record = {
      when: new Date().toISOString(),
      node: process.version,
      machine: `${platform}-${arch}`,
      cpu: cpus()[0]?.model ?? "unknown",
      rounds,
      microseconds,
    };
    printReport(record);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    return 0;
  });

function printReport({ node, machine, cpu, rounds, microseconds }) {
  console.log(`\nnode ${node}, ${machine}, ${cpu}, ${rounds} rounds`);
  console.log("µs of processor time (times the fastest backend)");
  const [fastest] = Object.values(microseconds);
  for (const [backend, steps] of Object.entries(microseconds)) {
    const cells = Object.entries(steps).map(
      ([step, us]) =>
        `${step}${us.toFixed(1).padStart(9)} ${`(${(us / fastest[step]).toFixed(1)})`.padEnd(7)}`,
    );
    console.log(`${backend.padEnd(12)}${cells.join("  ")}`);
  }
}
