// npm run simulate: runs the built service in virtual time, in worlds that are drawn by a seed, and checks its laws
// (test/simulation/README.md).
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { dirname } from "node:path";
import { bundleSource } from "./bundleSource.mjs";
import { loadSource } from "./loadSource.mjs";
import { readArguments } from "./readArguments.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run simulate -- [--runs N] [--seed S] [--processes N] [--state FILE] [--json FILE]
       npm run simulate -- --replay SEED | --plan FILE [--shrink no] [--log FILE] [--level LEVEL]

Runs worlds in virtual time: the built service with a real PostgreSQL, simulated nodes and a
simulated chain. Each world is drawn by its seed, and a seed repeats exactly on the same build.

  --runs N       worlds in all; their seeds are S, S + 1 ...       (default 60)
  --seed S       the first seed, an integer from 0 to 2^31-1       (default 1)
  --processes N  processes that run worlds, 1 to 64                (default: one a core)
  --state FILE   add each world to this file, and leave out the worlds that are in it: a run that
                 was stopped goes on                               (default: none)
  --replay SEED  run one world again, look for the fewest behaviours that break the same law, and
                 tell them as a story
  --plan FILE    the same for a plan, as --json writes it
  --shrink WHEN  yes, or no: tell the world as it is               (default yes)
  --log FILE     write the record of all that happens in the told world to this file
                                                                   (default: none)
  --level LEVEL  print the replicas' logs from this level on       (default silent)
  --json FILE    write the outcome of each world, or the told world, to this file
                                                                   (default: none)
  --help         show this text

Status: 0 no law was broken, 1 a law was broken, 2 wrong usage; 130 interrupted.`;

/** The time between two reports of the progress, in ms. */
const REPORT_MS = 10_000;

function readOptions(argv) {
  const values = readArguments(argv, {
    runs: { initial: "60", least: 1, most: 10_000_000 },
    seed: { initial: "1", least: 0, most: 2 ** 31 - 1 },
    processes: { initial: String(cpus().length), least: 1, most: 64 },
    state: { initial: "" },
    replay: { initial: "" },
    plan: { initial: "" },
    shrink: { initial: "yes", among: ["yes", "no"] },
    log: { initial: "" },
    level: { initial: "silent" },
  });
  if (values.replay !== "" && values.plan !== "") throw new Error("--replay and --plan each name a world");
  if (values.replay !== "" && !/^\d{1,10}$/.test(values.replay))
    throw new Error(`--replay is "${values.replay}", not a seed`);
  const plan = values.plan === "" ? undefined : readPlan(values.plan);
  return { ...values, world: plan ?? (values.replay === "" ? undefined : Number(values.replay)) };
}

function readPlan(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`--plan: ${error.message}`);
  }
}

async function main(options) {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) {
    process.once(name, () => {
      // The second signal ends the program at once.
      process.once(name, () => process.exit(130));
      interrupted.abort();
    });
  }
  const { signal } = interrupted;
  try {
    await setUp({ signal });
    const folder = `simulation-${process.pid}`;
    const program = await bundleSource("test/simulation/run/worker.ts", folder);
    const { module, close } = await loadSource("/test/simulation/run/runSimulation.ts");
    try {
      const run = options.world === undefined ? runWorlds : tellWorld;
      const status = await run(module, { ...options, program, signal });
      return signal.aborted ? 130 : status;
    } finally {
      await close();
      await rm(dirname(program), { recursive: true, force: true });
    }
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  }
}

async function runWorlds(module, { runs, json, state, ...options }) {
  const progress = startProgress(runs);
  let outcomes;
  try {
    const file = state === "" ? undefined : state;
    outcomes = await module.runSimulation({ ...options, runs, state: file, onWorld: progress.onWorld });
  } catch (error) {
    if (!(error instanceof module.OtherBuildError)) throw error;
    console.error(error.message);
    return 2;
  } finally {
    progress.stop();
  }
  if (json !== undefined) await writeFile(json, `${JSON.stringify(outcomes, null, 2)}\n`);
  return printOutcomes(outcomes);
}

/** Prints the progress of long runs, and each world that breaks a law. */
function startProgress(runs) {
  const begun = performance.now();
  let [worlds, broken, last] = [0, 0, 0];
  const report = () => {
    if (worlds === 0) return;
    const perSecond = (1_000 * worlds) / (performance.now() - begun);
    const minutesLeft = Math.ceil((runs - last) / perSecond / 60);
    console.log(
      `${last} of ${runs} worlds, ${perSecond.toFixed(1)} a second, ${broken} break a law, ${minutesLeft} min left`,
    );
  };
  const timer = setInterval(report, REPORT_MS);
  return {
    onWorld({ plan, violations }, done) {
      worlds++;
      last = done;
      if (violations.length === 0) return;
      broken++;
      const [{ law, text }] = violations;
      const others = violations.length === 1 ? "" : ` (and ${violations.length - 1} more)`;
      console.error(`world ${plan.seed} breaks ${law}${others}: ${text}`);
    },
    stop: () => clearInterval(timer),
  };
}

function printOutcomes(outcomes) {
  const broken = outcomes.filter(({ violations }) => violations.length > 0);
  const laws = new Map();
  for (const { seed, violations } of broken)
    for (const law of new Set(violations.map((one) => one.law)))
      laws.set(law, [...(laws.get(law) ?? []), seed]);
  for (const [law, seeds] of [...laws].sort())
    console.log(`${law}: ${seeds.length} worlds, such as ${seeds.slice(0, 10).join(", ")}`);
  console.log(`${outcomes.length} worlds, ${broken.length} break a law`);
  if (broken.length === 0) return 0;
  console.log(`Again, as a story: npm run simulate -- --replay ${broken[0].seed}`);
  return 1;
}

async function tellWorld(module, { world, shrink, log, level, json, program, signal }) {
  const told = await module.replay(world, {
    ...{ program, signal, isShrunk: shrink.includes("yes") },
    told: { isRecorded: log !== "", logLevel: level },
    onTry: ({ behaviours }, isBroken) =>
      console.log(`${behaviours.length} behaviours: ${isBroken ? "broken as well" : "not broken"}`),
  });
  const { lines, ...result } = told;
  console.log(module.story(result));
  if (log !== "") await writeFile(log, `${lines.join("\n")}\n`);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(result.plan, null, 2)}\n`);
  return result.violations.length === 0 ? 0 : 1;
}

await runMain({ usage: USAGE, readOptions, run: main }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
