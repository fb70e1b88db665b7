/**
 * Goes on checking the laws of `test/laws`, and sending a service what nobody should (`test/fuzz`), the same that
 * `npm test` does, with fresh seeds until the time is over.
 */
import { parseArgs } from "node:util";
import { loadSource } from "./loadSource.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run fuzz -- [--minutes N] [--seed S] [--of LIST] [--law TEXT]

Checks the protocol's laws (test/laws) with fresh seeds for half of the time. For the other
half sends requests and frames, by grammar and with bytes that are wrong, to a service in a
process of its own (test/fuzz): it must never answer 500 or INTERNAL_ERROR, log an error,
end, hang, keep a good client waiting, or answer anything that is not as described.

  --minutes N   how long, in minutes; fractions too          (default 1)
  --seed S      the first seed, an integer from 0 to 2^31-1; round n of the laws uses
                S + n, all requests use S                    (default: random)
  --of LIST     laws, service or both                        (default laws,service)
  --law TEXT    only the laws whose name contains TEXT       (default: all)
  --help        this text

Status: 0 all was well, 1 something was not (the counterexample and the seed that leads
to it are printed), 2 wrong usage.`;

/** Between two looks at the clock: short enough to end on time, long enough to be cheap. */
const CASES_A_STEP = 250;
const CASES_A_STEP_RECOVERING = 25;
const PROGRESS_MS = 10_000;
const MAX_SEED = 2 ** 31 - 1;
const PARTS = ["laws", "service"];

function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string" },
      of: { type: "string", default: PARTS.join(",") },
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
  const parts = values.of.split(",");
  if (parts.some((part) => !PARTS.includes(part))) {
    problems.push(`--of is "${values.of}"; it can be ${PARTS.join(", ")} or both`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { minutes: minutes / parts.length, seed, parts, law: values.law, help: values.help };
}

const count = (cases) => cases.toLocaleString("en");

/** Runs every law in turn until the deadline. Returns the number of cases, or the law that was broken. */
async function run(laws, { minutes, seed, signal }) {
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
      if (now >= deadline || signal.aborted) return { cases };
      if (now - said < PROGRESS_MS) continue;
      said = now;
      console.log(
        `${Math.round((now - start) / 1000)} s  ${count(cases)} cases  seed ${roundSeed}  ${law.name}`,
      );
    }
  }
}

async function checkLaws(options) {
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
    console.error(`\nAgain: npm run fuzz -- --of laws --seed ${broken.seed} --law "${broken.law.name}"`);
    console.log(`fuzz: a law was broken after ${count(cases)} cases, at seed ${broken.seed}`);
    return 1;
  } finally {
    await close();
  }
}

async function fuzzService({ minutes, seed, signal }) {
  const { module, close } = await loadSource("/test/fuzz/runFuzz.ts");
  try {
    console.log(`a service, ${minutes} min, seed ${seed}`);
    const start = Date.now();
    const { probes, finding } = await module.runFuzz({
      seed,
      forMs: minutes * 60_000,
      signal,
      onProgress: (sent) =>
        console.log(`${Math.round((Date.now() - start) / 1_000)} s  ${count(sent)} requests`),
    });
    if (finding === undefined) {
      console.log(`fuzz: the service was well through ${count(probes)} requests of seed ${seed}`);
      return 0;
    }
    console.error(
      `${finding.problem}\n\nThe smallest request that was found, as bytes in latin1:\n${finding.request}`,
    );
    console.error(`\nAgain: npm run fuzz -- --of service --seed ${seed}`);
    console.log(`fuzz: request ${finding.number} of seed ${seed} was not answered well`);
    return 1;
  } finally {
    await close();
  }
}

async function main(options) {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort());
  const { signal } = interrupted;
  await setUp({ signal });
  const parts = options.law === "" ? options.parts : ["laws"];
  let status = 0;
  if (parts.includes("laws")) status = await checkLaws({ ...options, signal });
  if (parts.includes("service") && status !== 2 && !signal.aborted) {
    status = Math.max(status, await fuzzService({ ...options, signal }));
  }
  if (signal.aborted) console.log("interrupted");
  return status;
}

await runMain({ usage: USAGE, readOptions, run: main });
