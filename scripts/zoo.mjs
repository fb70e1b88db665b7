// npm run zoo: puts stand-ins for nodes with their faults in front of a chain, and compares the ledgers of the service
// (test/nodeZoo, docs/chaos.md). The processes run the built packages.
import { writeFile } from "node:fs/promises";
import { loadSource } from "./loadSource.mjs";
import { readArguments } from "./readArguments.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run zoo -- [--personality A,B] [--fault A,B] [--pool A,B] [--seed S] [--seeds N]
                      [--jobs N] [--json FILE] [--log FILE]

Runs the service behind stand-ins for nodes. A cell is a personality, a fault and a kind of pool: a
chain, a replica of the service and a load of submissions. When the fault is over, the answers that
clients had, the rows of the store and the transactions of the chain are compared.

  --personality A,B  geth, reth, erigon, besu, nethermind, cosmos, balanced   (default all)
  --fault A,B        names of faults; an unknown name prints them             (default all)
  --pool A,B         the chain's pool: strict, queued                         (default both)
  --seed S           seed of the faults and the load                          (default 1)
  --seeds N          run the matrix for this many seeds, from S on            (default 1)
  --jobs N           cells at once, each with processes of its own            (default 3)
  --json FILE        write the cells and the counts to this file              (default: none)
  --log FILE         write the logs of the cells that fail here               (default zoo.log)
  --help             show this text

Status: 0 every check holds, 1 a check fails (with the evidence), 2 wrong usage.`;

function readOptions(argv) {
  const values = readArguments(argv, {
    personality: { initial: "" },
    fault: { initial: "" },
    pool: { initial: "strict,queued", among: ["strict", "queued"] },
    seed: { initial: "1", least: 0, most: 2 ** 31 - 1 },
    seeds: { initial: "1", least: 1, most: 10_000 },
    jobs: { initial: "3", least: 1, most: 32 },
    log: { initial: "zoo.log" },
  });
  const listOf = (text) => (text === "" ? undefined : text.split(","));
  return {
    ...values,
    personalities: listOf(values.personality),
    faults: listOf(values.fault),
    pools: values.pool,
  };
}

function printCell({ personality, fault, pool, seed, transactions, executed, recoveryMs, struck, findings }) {
  const found =
    findings.length === 0 ? "ok" : [...new Set(findings.map(({ violation }) => violation))].join(", ");
  const strikes = Object.entries(struck)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
  const times = `${String(transactions).padStart(3)} sent ${String(executed).padStart(3)} run  ${(recoveryMs / 1000).toFixed(1).padStart(5)} s`;
  for (const { violation, text } of findings.slice(0, 3))
    console.error(`  ${violation}: ${text.slice(0, 1_500)}`);
  console.log(
    `${personality.padEnd(10)} ${fault.padEnd(16)} ${pool.padEnd(6)} ${seed}  ${times}  ${found.padEnd(4)}  ${strikes}`,
  );
}

/** Names that the list does not have. */
function unknownOf(given, known) {
  return (given ?? []).filter((name) => !known.includes(name));
}

async function main(options) {
  await setUp({ signal: new AbortController().signal });
  const { module, close } = await loadSource("/test/chaos/runZoo.ts");
  const { personalities, faults, pools, seed, seeds, jobs, json, log } = options;
  const unknown = [
    ...unknownOf(
      personalities,
      module.PERSONALITIES.map(({ name }) => name),
    ),
    ...unknownOf(faults, module.ZOO_FAULTS),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown}; the faults are ${module.ZOO_FAULTS.join(", ")}`);
    await close();
    return 2;
  }
  const cells = [];
  const violations = {};
  for (let i = 0; i < seeds; i++) {
    const chosen = module.cellsOf({ personalities, faults, pools, seed: seed + i });
    const run = await module.runZoo({ cells: chosen, jobs, onCell: printCell });
    cells.push(...run.cells);
    for (const [name, count] of Object.entries(run.violations))
      violations[name] = (violations[name] ?? 0) + count;
  }
  await close();
  return await report({ cells, violations }, json, log);
}

async function report({ cells, violations }, json, log) {
  const failed = cells.filter(({ findings }) => findings.length > 0);
  console.log("");
  console.log(`cells ${cells.length}, with a violation ${failed.length}`);
  for (const [name, count] of Object.entries(violations)) console.log(`  ${name.padEnd(16)} ${count}`);
  if (json !== undefined) {
    const rows = cells.map(({ log: _, ...cell }) => cell);
    await writeFile(json, `${JSON.stringify({ violations, cells: rows }, null, 1)}\n`);
  }
  if (failed.length === 0) return 0;
  for (const { personality, fault, pool, seed, findings } of failed) {
    console.error(
      `\nnpm run zoo -- --personality ${personality} --fault ${fault} --pool ${pool} --seed ${seed}`,
    );
    for (const { violation, text } of findings.slice(0, 5))
      console.error(`  ${violation}: ${text.slice(0, 1_500)}`);
  }
  await writeFile(
    log,
    failed
      .map((cell) => `=== ${cell.personality} ${cell.fault} ${cell.pool} ${cell.seed}\n${cell.log}`)
      .join("\n"),
  );
  console.error(`\nThe logs are in ${log}.`);
  return 1;
}

// process.exit() runs the exit handlers, which end the child processes.
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => process.exit(130));
await runMain({ usage: USAGE, readOptions, run: main }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
