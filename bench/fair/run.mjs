// npm run bench:fair: measures how much one trouble delays everybody else. See --help.
import { rm, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { readOptions, USAGE } from "./options.mjs";

const ownProgram = (name) => new URL(`${name}.mjs`, import.meta.url);
const abuseProgram = (name) => new URL(`../abuse/${name}.mjs`, import.meta.url);
const serviceProgram = (name) => new URL(`../service/${name}.mjs`, import.meta.url);
/** The latency of the other senders may at most double (D30). */
const MAX_RATIO = 2;
const WARM_UP_MS = 2_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const main = (options) =>
  inFolder("gas-waiver-fair-", async (workspace) => {
    const { only, seconds, rounds, json } = options;
    console.log(
      `node ${process.version}, ${cpus().length} cores, load before: ${loadavg()[0].toFixed(1)}; ${seconds} s each`,
    );
    console.log(`${"".padEnd(24)}median, ms                    p99, ms`);
    console.log(`${"trouble".padEnd(24)}alone    beside   ratio    alone    beside   failed`);
    const runs = [];
    for (const name of only) {
      const results = [];
      for (let i = 0; i < rounds; i++) {
        results.push(
          await runOne(name, { seconds, dataDir: join(workspace.folder, name), signal: workspace.signal }),
        );
      }
      const run = summaryOf(name, results);
      print(run);
      runs.push(run);
    }
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ seconds, runs }, undefined, 2)}\n`);
    return runs.every(({ ratio, failures }) => ratio <= MAX_RATIO && failures === 0) ? 0 : 1;
  });

function summaryOf(name, rounds) {
  const medianOf = (part, figure) => median(rounds.map((round) => round[part][figure]));
  return {
    name,
    ratio: median(rounds.map(({ alone, beside }) => beside.p50 / alone.p50)),
    alone: { p50: medianOf("alone", "p50"), p99: medianOf("alone", "p99") },
    beside: { p50: medianOf("beside", "p50"), p99: medianOf("beside", "p99") },
    failures: rounds.reduce((sum, { alone, beside }) => sum + alone.failures + beside.failures, 0),
    rounds,
  };
}

function print({ name, ratio, alone, beside, failures }) {
  const cells = [alone.p50, beside.p50, ratio, alone.p99, beside.p99].map((value, i) =>
    value.toFixed(i === 2 ? 2 : 1).padEnd(9),
  );
  console.log(`${name.padEnd(24)}${cells.join("")}${failures}`);
}

/** Runs one trouble on a new service. */
async function runOne(name, { seconds, dataDir, signal }) {
  const run = async (start) => {
    await runToEnd(serviceProgram("prepare"), [dataDir, "0"], { signal });
    const node = await start(ownProgram("node"), []);
    const service = await start(abuseProgram("service"), [node.url, dataDir], { node: ["--expose-gc"] });
    const client = await start(abuseProgram("client"), [service.url, "0"]);
    const attacker = await start(ownProgram("attacker"), [service.url]);
    await attacker.ask("prepare", { name, seconds });
    const measure = async (ms) => {
      await client.ask("begin");
      await sleep(ms);
      return client.ask("stop");
    };
    await measure(WARM_UP_MS);
    const alone = await measure(seconds * 1_000);
    await attacker.ask("begin", { name });
    const beside = await measure(seconds * 1_000);
    return { alone, beside };
  };
  try {
    return await withPrograms({ signal }, run);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

await runMain({ usage: USAGE, readOptions, run: main });
