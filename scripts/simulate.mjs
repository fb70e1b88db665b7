// npm run simulate: runs the built service in virtual time, in worlds that are drawn by a seed, and checks its laws
// (test/simulation/README.md).
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { bundleSource } from "./bundleSource.mjs";
import { loadSource } from "./loadSource.mjs";
import { readArguments } from "./readArguments.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run simulate -- [--runs N] [--seed S] [--processes N] [--json FILE]

Runs worlds in virtual time: the built service with a real PostgreSQL, simulated nodes and a
simulated chain. Each world is drawn by its seed, and a seed repeats exactly.

  --runs N       worlds in all; their seeds are S, S + 1 ...       (default 60)
  --seed S       the first seed, an integer from 0 to 2^31-1       (default 1)
  --processes N  processes that run worlds, 1 to 64                (default: one a core)
  --json FILE    write the outcome of each world to this file      (default: none)
  --help         show this text

Status: 0 no law was broken, 1 a law was broken, 2 wrong usage.`;

function readOptions(argv) {
  return readArguments(argv, {
    runs: { initial: "60", least: 1, most: 10_000_000 },
    seed: { initial: "1", least: 0, most: 2 ** 31 - 1 },
    processes: { initial: String(cpus().length), least: 1, most: 64 },
  });
}

async function main({ runs, seed, processes, json }) {
  await setUp({ signal: new AbortController().signal });
  const program = await bundleSource("test/simulation/worker.ts", "simulation");
  const { module, close } = await loadSource("/test/simulation/runSimulation.ts");
  const results = [];
  await module.runSimulation({
    ...{ seeds: Array.from({ length: runs }, (_, i) => seed + i), processes, program },
    ...{ isRecorded: false, logLevel: "silent" },
    onResult(result) {
      results.push(result);
      console.log(`seed ${result.plan.seed}  ${result.digest}  ${JSON.stringify(result.counts)}`);
      for (const { law, text } of result.violations) console.error(`  ${law}: ${text}`);
    },
  });
  await close();
  if (json !== undefined) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  return results.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

// process.exit() runs the exit handlers, which end the child processes.
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => process.exit(130));
await runMain({ usage: USAGE, readOptions, run: main }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
