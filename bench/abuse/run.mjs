// npm run bench:abuse: measures the service, and a well-behaved client, during attacks. See --help.
import { rm, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { ATTACKS } from "./attacks/index.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { printHead, printRun, problemsOf } from "./report.mjs";
import { runTroubles } from "./runTroubles.mjs";

const ownProgram = (name) => new URL(`${name}.mjs`, import.meta.url);
const serviceProgram = (name) => new URL(`../service/${name}.mjs`, import.meta.url);
/** Time between the end of an attack and the last figures, in which the service frees the attack's memory. */
const REST_MS = 1_500;
const WARM_UP_MS = 1_500;
/** The client's median beside a target that does nothing needs no longer. */
const MAX_FLOOR_SECONDS = 20;

const main = (options) =>
  inFolder("gas-waiver-abuse-", async (workspace) => {
    const { only, seconds } = options;
    console.log(
      `node ${process.version}, ${cpus().length} cores, load before: ${loadavg()[0].toFixed(1)}; ${seconds} s each`,
    );
    const attacks = only.filter((name) => Object.hasOwn(ATTACKS, name));
    const troubles = only.filter((name) => !attacks.includes(name));
    const runs = await measure(attacks, seconds, workspace);
    const delays = await runTroubles(troubles, options, workspace);
    const problems = [...runs.flatMap(problemsOf), ...delays.flatMap(({ problems }) => problems)];
    await report(options, { runs, troubles: delays }, problems);
    return problems.length === 0 ? 0 : 1;
  });

async function measure(names, seconds, { folder, signal }) {
  if (names.length > 0) printHead();
  const runs = [];
  for (const name of names) {
    const run = await runOne(name, { seconds, dataDir: join(folder, name), signal });
    printRun(run);
    runs.push(run);
  }
  return runs;
}

/** Runs one attack on a new service. */
async function runOne(name, { seconds, dataDir, signal }) {
  let errors = "";
  const run = async (start) => {
    await runToEnd(serviceProgram("prepare"), [dataDir, "0"], { signal });
    const node = await start(serviceProgram("node"), ["0"]);
    const onError = (text) => (errors += text);
    const service = await start(ownProgram("service"), [node.url, dataDir], {
      node: ["--expose-gc"],
      onError,
    });
    const client = await start(ownProgram("client"), [service.url, "0"]);
    await warmUp(client);
    const floor = await measureFloor(name, { seconds, start, client });
    const attacker = await start(ownProgram("attacker"), [service.url]);
    const before = await service.ask("begin");
    await client.ask("begin");
    const counts = await attacker.ask("attack", { name, seconds });
    const clientFigures = await client.ask("stop");
    const figures = await service.ask("figures");
    const holding = await service.ask("memory");
    await attacker.ask("release");
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const after = await service.ask("memory");
    return {
      name,
      counts,
      service: { before, ...figures, holding, after },
      client: clientFigures,
      floor,
      errors: errors.split("\n").filter((line) => line !== ""),
    };
  };
  try {
    return await withPrograms({ signal }, run);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Measures the client's latencies while the same attack goes to a target that does nothing, on the same machine. */
async function measureFloor(name, { seconds, start, client }) {
  const target = await start(ownProgram("floor"), []);
  const attacker = await start(ownProgram("attacker"), [target.url]);
  await client.ask("begin");
  await attacker.ask("attack", { name, seconds: Math.min(seconds, MAX_FLOOR_SECONDS) });
  const figures = await client.ask("stop");
  await attacker.ask("release");
  await attacker.close();
  await target.close();
  return figures;
}

/** Lets V8 compile the service's code before the figures begin. */
async function warmUp(client) {
  await client.ask("begin");
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  await client.ask("stop");
}

async function report({ json, seconds }, results, problems) {
  for (const problem of problems) console.error(problem);
  console.log(problems.length === 0 ? "abuse: no problem was found" : `abuse: ${problems.length} problems`);
  if (json === undefined) return;
  const machine = {
    node: process.version,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    load: loadavg(),
  };
  const figures = { when: new Date().toISOString(), ...machine, seconds, ...results, problems };
  await writeFile(json, `${JSON.stringify(figures, undefined, 2)}\n`);
  console.log(`written to ${json}`);
}

await runMain({ usage: USAGE, readOptions, run: main });
