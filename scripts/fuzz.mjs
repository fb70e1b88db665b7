/**
 * Goes on checking the laws of `test/laws`, the same that `npm test` checks, with fresh seeds until the time is
 * over.
 */
import { parseArgs } from "node:util";
import { loadSource } from "./loadSource.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run fuzz -- [--minutes N] [--seed S] [--law TEXT]

Checks the protocol's laws (test/laws) with fresh seeds until the time is over.

  --minutes N   how long, in minutes; fractions too          (default 1)
  --seed S      the first seed, an integer from 0 to 2^31-1; round n uses S + n
                                                             (default: random)
  --law TEXT    only the laws whose name contains TEXT       (default: all)
  --help        this text

Status: 0 all laws held, 1 a law was broken (the counterexample and the seed that
leads to it are printed), 2 wrong usage.`;

/** Between two looks at the clock: short enough to end on time, long enough to be cheap. */
const CASES_A_STEP = 250;
const CASES_A_STEP_RECOVERING = 25;
const PROGRESS_MS = 10_000;
const MAX_SEED = 2 ** 31 - 1;

function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string" },
      law: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  const problems = [];
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && Number.isFinite(minutes))) {
    problems.push(`--minutes is "${values.minutes}", not a number above 0`);
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * MAX_SEED) : Number(values.seed);
  if (values.seed?.trim() === "" || !(Number.isInteger(seed) && seed >= 0 && seed <= MAX_SEED)) {
    problems.push(`--seed is "${values.seed}", not an integer from 0 to ${MAX_SEED}`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { minutes, seed, law: values.law, help: values.help };
}

const count = (cases) => cases.toLocaleString("en");

/** Runs every law in turn until the deadline. Returns the number of cases, or the law that was broken. */
async function run(laws, { minutes, seed }) {
  const start = Date.now();
  const deadline = start + minutes * 60_000;
  let said = start;
  let cases = 0;
  for (let round = 0; ; round++) {
    const roundSeed = (seed + round) % (MAX_SEED + 1);
    for (const law of laws) {
      const step = law.recovers ? CASES_A_STEP_RECOVERING : CASES_A_STEP;
      const outcome = await law.check({ seed: roundSeed, cases: step });
      cases += outcome.cases;
      if (outcome.failure !== undefined) return { cases, broken: { law, seed: roundSeed, ...outcome } };
      const now = Date.now();
      if (now >= deadline) return { cases };
      if (now - said < PROGRESS_MS) continue;
      said = now;
      console.log(
        `${Math.round((now - start) / 1000)} s  ${count(cases)} cases  seed ${roundSeed}  ${law.name}`,
      );
    }
  }
}

async function main(options) {
  await setUp({ signal: new AbortController().signal });
  const { module, close } = await loadSource("/test/laws/index.ts");
  try {
    const chosen = module.LAWS.filter(({ name }) => name.includes(options.law));
    if (chosen.length === 0) {
      console.error(`no law's name contains "${options.law}"; the laws are:`);
      for (const { name } of module.LAWS) console.error(`  ${name}`);
      return 2;
    }
    console.log(`${chosen.length} laws, ${options.minutes} min, seed ${options.seed}`);
    const { cases, broken } = await run(chosen, options);
    if (broken === undefined) {
      console.log(`fuzz: ${chosen.length} laws held on ${count(cases)} cases, from seed ${options.seed} on`);
      return 0;
    }
    console.error(`broken: ${broken.law.name}\n${broken.failure}`);
    console.error(`\nAgain: npm run fuzz -- --seed ${broken.seed} --law "${broken.law.name}"`);
    console.log(`fuzz: a law was broken after ${count(cases)} cases, at seed ${broken.seed}`);
    return 1;
  } finally {
    await close();
  }
}

await runMain({ usage: USAGE, readOptions, run: main });
