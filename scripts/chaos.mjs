// npm run chaos: injects faults into real processes of the service under load, then compares the clients' answers, the
// store and the chain (test/chaos, docs/chaos.md). The processes run the built packages.
import { writeFile } from "node:fs/promises";
import { loadSource } from "./loadSource.mjs";
import { readArguments } from "./readArguments.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run chaos -- [--rounds N] [--seed S] [--pool KIND] [--replicas N]
                        [--reorg-depth N] [--json FILE] [--log FILE]

Runs a chain, a PostgreSQL and replicas of the service as processes, sends load and injects
faults; then compares the answers that clients had, the rows of the store and the transactions
that the chain executed.

  --rounds N    rounds in all; a round takes some 10 seconds      (default 20)
  --seed S      seed of the faults and the load, an integer from 0 to 2^31-1
                                                                  (default 1)
  --pool KIND   the chain's pool: strict, queued, or both: half of the rounds each
                                                                  (default both)
  --replicas N  replicas of the service, 1 to 3                   (default 3)
  --reorg-depth N
                the deepest reorg that the replicas reckon with, 0 to 3; above 0 the chain
                has reorgs                                        (default 0)
  --fault A,B   the faults to draw from; an unknown name prints them
                                                                  (default all)
  --json FILE   write the outcome to this file as well            (default: none)
  --log FILE    write the replicas' logs here if a check fails    (default chaos.log)
  --help        show this text

Status: 0 every check holds, 1 a check fails (with the evidence), 2 wrong usage.`;

const POOLS = { strict: ["strict"], queued: ["queued"], both: ["strict", "queued"] };

function readOptions(argv) {
  const values = readArguments(argv, {
    rounds: { initial: "20", least: 1, most: 1_000_000 },
    seed: { initial: "1", least: 0, most: 2 ** 31 - 1 },
    replicas: { initial: "3", least: 1, most: 3 },
    "reorg-depth": { initial: "0", least: 0, most: 3 },
    pool: { initial: "both", among: Object.keys(POOLS) },
    fault: { initial: "" },
    log: { initial: "chaos.log" },
  });
  const faults = values.fault === "" ? undefined : values.fault.split(",");
  const [pool, ...others] = values.pool;
  if (others.length > 0) throw new Error(`--pool is "${values.pool}", not strict, queued or both`);
  return { ...values, faults, reorgDepth: values["reorg-depth"], pool, pools: POOLS[pool] };
}

function printRound({ pool, round, faults, transactions, recoveryMs }) {
  const seconds = `${(recoveryMs / 1000).toFixed(1)} s`.padStart(7);
  console.log(
    `${pool} ${String(round).padStart(4)}  ${String(transactions).padStart(4)} sent  recovered in ${seconds}  ${faults.join(", ")}`,
  );
}

function printOutcome(outcome, faultCounts, answers) {
  const width = Math.max(...Object.keys(outcome).map((name) => name.length));
  for (const [name, value] of Object.entries(outcome)) console.log(`  ${name.padEnd(width)}  ${value}`);
  const list = (counts) =>
    Object.entries(counts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  console.log(`  ${"fault kinds".padEnd(width)}  ${list(faultCounts)}`);
  console.log(`  ${"answers".padEnd(width)}  ${list(answers)}`);
}

async function main(options) {
  await setUp({ signal: new AbortController().signal });
  const { rounds, seed, pool, pools, replicas, reorgDepth, fault, json, log } = options;
  const { module, close } = await loadSource("/test/chaos/runChaos.ts");
  const unknown = (options.faults ?? []).filter((name) => !module.ALL_FAULTS.includes(name));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown}; the faults are ${module.ALL_FAULTS.join(", ")}`);
    await close();
    return 2;
  }
  const { outcome, faultCounts, answers, evidence, crashes, ...run } = await module.runChaos({
    ...options,
    onRound: printRound,
  });
  await close();
  console.log("");
  printOutcome(outcome, faultCounts, answers);
  if (json !== undefined) {
    const text = JSON.stringify(
      { ...outcome, seed, rounds: run.roundsRun, pools, replicas, reorgDepth },
      null,
      2,
    );
    await writeFile(json, `${text}\n`);
  }
  if (evidence.length === 0 && crashes.length === 0) return 0;
  for (const { violation, text } of evidence) console.error(`\n${violation}: ${text}`);
  for (const crash of crashes) console.error(`\ncrash: ${crash}`);
  await writeFile(log, run.log);
  const again = `npm run chaos -- --rounds ${rounds} --seed ${seed} --pool ${pool} --replicas ${replicas} --reorg-depth ${reorgDepth}${fault === "" ? "" : ` --fault ${fault}`}`;
  console.error(`\nThe replicas' logs are in ${log}. Again: ${again}`);
  return 1;
}

// process.exit() runs the exit handlers, which end the child processes.
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => process.exit(130));
await runMain({ usage: USAGE, readOptions, run: main }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
