// npm run night: the troubles of a night on duty, one after the other, under load (test/night). The processes run the built
// packages.
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { loadSource } from "./loadSource.mjs";
import { readArguments } from "./readArguments.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run night -- [--only NAME[,NAME]] [--rate N] [--seed S] [--json FILE]
                        [--log FILE]

Runs a chain with two nodes, a PostgreSQL and two replicas of the service behind the proxy of the
guide, sends load, and causes the troubles of a night one after the other. Each is ended by what
its runbook says. Prints how many seconds it took to the first signal, until a replica was not
ready, to the alarm, and from the remedy to the end. A night takes some 40 minutes.

  --only A,B    the troubles to have; an unknown name prints them  (default all)
  --rate N      transactions a second, 1 to 100                    (default 5)
  --seed S      seed of the load, an integer from 0 to 2^31-1      (default 1)
  --log FILE    write the replicas' logs to this file              (default: none)
  --json FILE   write the outcome to this file as well             (default: none)
  --help        show this text

Status: 0 every trouble was seen in time and ended, and nothing was lost, doubled or falsely told;
1 something of that fails; 2 wrong usage; 130 interrupted.`;

function readOptions(argv) {
  const values = readArguments(argv, {
    rate: { initial: "5", least: 1, most: 100 },
    seed: { initial: "1", least: 0, most: 2 ** 31 - 1 },
    only: { initial: "" },
    log: { initial: "" },
  });
  return { ...values, only: values.only === "" ? [] : values.only.split(",") };
}

function printTrouble({ name, skipped, signalS, signal = "", unreadyS, alarmS, endS, fired = [], missing }) {
  const seconds = (value) => (value === undefined ? "—" : `${value.toFixed(1)} s`);
  if (skipped !== undefined) console.log(`${name}: skipped: ${skipped}`);
  else {
    console.log(
      `  signal ${seconds(signalS)}, not ready ${seconds(unreadyS)}, alarm ${seconds(alarmS)} (${fired.join(", ")}), end ${seconds(endS)}`,
    );
    console.log(`  ${signal.slice(0, 200)}`);
  }
  for (const what of missing) console.log(`  MISSING: ${what}`);
}

async function main({ only, rate, seed, json, log }) {
  const interruption = new AbortController();
  // The first signal ends the night in order; the next one ends the process, whose exit handlers end what it has started.
  for (const name of ["SIGINT", "SIGTERM"])
    process.on(name, () => (interruption.signal.aborted ? process.exit(130) : interruption.abort()));
  await setUp({ signal: interruption.signal });
  const { module, close } = await loadSource("/test/night/index.ts");
  const unknown = only.filter((name) => !module.TROUBLE_NAMES.includes(name));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown}; the troubles are ${module.TROUBLE_NAMES.join(", ")}`);
    await close();
    return 2;
  }
  const logs = log === "" ? undefined : createWriteStream(log);
  const run = module.runNight({
    ...{ only: only.length > 0 ? only : module.TROUBLE_NAMES, rate, seed, signal: interruption.signal },
    ...{ onTrouble: printTrouble, onLine: console.log },
    onLog: (line) => logs?.write(`${line}\n`),
  });
  const result = await run.catch((error) => {
    if (interruption.signal.aborted) return undefined;
    throw error;
  });
  await close();
  if (result === undefined) return 130;
  console.log(`\n${module.tableOf(result)}`);
  for (const { violation, text } of result.findings) console.error(`\n${violation}: ${text}`);
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ ...result, rate, seed }, null, 2)}\n`);
  return result.findings.length + result.troubles.flatMap(({ missing }) => missing).length === 0 ? 0 : 1;
}

await runMain({ usage: USAGE, readOptions, run: main }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
