import { rm } from "node:fs/promises";
import { join } from "node:path";
import { median } from "../median.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";

const ownProgram = (name) => new URL(`${name}.mjs`, import.meta.url);
const prepareProgram = new URL("../service/prepare.mjs", import.meta.url);
/** The latency of the other senders may at most double (D30). */
const MAX_RATIO = 2;
const WARM_UP_MS = 2_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Measures, for each trouble, how much it delays everybody else. @returns figures and problems of each. */
export async function runTroubles(names, { seconds, rounds }, { folder, signal }) {
  if (names.length === 0) return [];
  console.log(`\n${"".padEnd(24)}median, ms                    p99, ms`);
  console.log(`${"trouble".padEnd(24)}alone    beside   ratio    alone    beside   failed`);
  const runs = [];
  for (const name of names) {
    const results = [];
    for (let i = 0; i < rounds; i++) {
      results.push(await runOnce(name, { seconds, dataDir: join(folder, name), signal }));
    }
    const run = summaryOf(name, results);
    print(run);
    runs.push(run);
  }
  return runs;
}

function summaryOf(name, rounds) {
  const medianOf = (part, figure) => median(rounds.map((round) => round[part][figure]));
  const ratio = median(rounds.map(({ alone, beside }) => beside.p50 / alone.p50));
  const failures = rounds.reduce((sum, { alone, beside }) => sum + alone.failures + beside.failures, 0);
  return {
    ...{ name, ratio, failures, rounds },
    alone: { p50: medianOf("alone", "p50"), p99: medianOf("alone", "p99") },
    beside: { p50: medianOf("beside", "p50"), p99: medianOf("beside", "p99") },
    problems: [
      ...(ratio > MAX_RATIO ? [`${name}: the client's median grew to ${ratio.toFixed(2)} times`] : []),
      ...(failures > 0 ? [`${name}: ${failures} requests of the client failed`] : []),
    ],
  };
}

function print({ name, ratio, alone, beside, failures }) {
  const cells = [alone.p50, beside.p50, ratio, alone.p99, beside.p99].map((value, i) =>
    value.toFixed(i === 2 ? 2 : 1).padEnd(9),
  );
  console.log(`${name.padEnd(24)}${cells.join("")}${failures}`);
}

/** Runs one trouble on a new service. */
async function runOnce(name, { seconds, dataDir, signal }) {
  const run = async (start) => {
    await runToEnd(prepareProgram, [dataDir, "0"], { signal });
    const node = await start(ownProgram("node"), []);
    const service = await start(ownProgram("service"), [node.url, dataDir], { node: ["--expose-gc"] });
    const client = await start(ownProgram("client"), [service.url, "0"]);
    const troublemaker = await start(ownProgram("troublemaker"), [service.url]);
    await troublemaker.ask("prepare", { name, seconds });
    const measure = async (ms) => {
      await client.ask("begin");
      await sleep(ms);
      return client.ask("stop");
    };
    await measure(WARM_UP_MS);
    const alone = await measure(seconds * 1_000);
    await troublemaker.ask("begin", { name });
    const beside = await measure(seconds * 1_000);
    return { alone, beside };
  };
  try {
    return await withPrograms({ signal }, run);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
