// npm run fuzz: runs two tests of `npm test` until the time is over, from a fresh seed: the protocol's laws
// (test/laws), and malformed requests to a service (test/fuzz).
import { parseArgs } from "node:util";
import { loadSource } from "./loadSource.mjs";
import { runMain } from "./runMain.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `Usage: npm run fuzz -- [--minutes N] [--seed S] [--of LIST] [--law TEXT]

Half of the time it checks the protocol's laws (test/laws) with fresh seeds. The other half it
sends requests and frames, generated from a grammar and then corrupted, to a service in a
process of its own (test/fuzz). The service must never answer 500 or INTERNAL_ERROR, log an
error, exit, hang, keep a well-behaved client waiting, or answer against its description.

  --minutes N   duration in minutes, fractions allowed       (default 1)
  --seed S      the first seed, an integer from 0 to 2^31-1; round n of the laws uses
                S + n, all requests use S                    (default: random)
  --of LIST     laws, service or both                        (default laws,service)
  --law TEXT    only the laws whose name contains TEXT       (default: all)
  --help        show this text

Status: 0 every check held, 1 one did not (it prints the counterexample and the seed that
reproduces it), 2 wrong usage.`;

/** Cases of a law between two checks of the clock; fewer where each case recovers a signer, which is slow. */
const CASES_PER_STEP = 250;
const CASES_PER_RECOVERING_STEP = 25;
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
  const listed = values.of.split(",");
  if (listed.some((part) => !PARTS.includes(part))) {
    problems.push(`--of is "${values.of}"; it can be ${PARTS.join(", ")} or both`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const parts = values.law === "" ? listed : ["laws"];
  return { minutes: minutes / parts.length, seed, parts, law: values.law, help: values.help };
}

const count = (cases) => cases.toLocaleString("en");

/** Runs the laws in turn until the deadline. @returns the number of cases, and the broken law if there is one. */
async function run(laws, { minutes, seed, signal }) {
  const start = Date.now();
  const deadline = start + minutes * 60_000;
  let lastProgressAt = start;
  let cases = 0;
  for (let round = 0; ; round++) {
    const roundSeed = (seed + round) % (MAX_SEED + 1);
    for (const law of laws) {
      const step = law.recovers ? CASES_PER_RECOVERING_STEP : CASES_PER_STEP;
      const outcome = await law.check({ seed: roundSeed, cases: step });
      cases += outcome.cases;
      if (outcome.failure !== undefined) return { cases, broken: { law, seed: roundSeed, ...outcome } };
      const now = Date.now();
      if (now >= deadline || signal.aborted) return { cases };
      if (now - lastProgressAt < PROGRESS_MS) continue;
      lastProgressAt = now;
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
      console.log(`fuzz: the service passed ${count(probes)} requests of seed ${seed}`);
      return 0;
    }
    console.error(
      `${finding.problem}\n\nThe smallest request that shows it, as bytes in latin1:\n${finding.request}`,
    );
    console.error(`\nAgain: npm run fuzz -- --of service --seed ${seed}`);
    console.log(`fuzz: request ${finding.number} of seed ${seed} failed its check`);
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
  let status = 0;
  if (options.parts.includes("laws")) status = await checkLaws({ ...options, signal });
  if (options.parts.includes("service") && status !== 2 && !signal.aborted) {
    status = Math.max(status, await fuzzService({ ...options, signal }));
  }
  if (signal.aborted) console.log("interrupted");
  return status;
}

await runMain({ usage: USAGE, readOptions, run: main });
