// npm run bench:pair: two versions of the service side by side. See --help.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { withPrograms } from "../programs.mjs";
import { OTHER_KEY } from "../service/shape.mjs";
import { readOptions, USAGE } from "./options.mjs";

const HERE = fileURLToPath(new URL("../..", import.meta.url));
const rateProgram = (name) => new URL(`../rate/${name}.mjs`, import.meta.url);
/** Requests before the measurement, for which V8 compiles the code. */
const WARM_UP = { perSecond: 200, seconds: 5 };
/** Users of the other key, whom the load never reaches. */
const OTHER_USERS = 100_000_000;
const FIGURES = {
  p50: "p50, ms",
  p90: "p90, ms",
  p99: "p99, ms",
  beside: "other key, p50, ms",
  service: "service, µs",
  database: "PostgreSQL, µs",
};

const main = ({ other, rates, beside, rounds, seconds, json }) =>
  inFolder("gas-waiver-pair-", async ({ folder, signal }) => {
    const loadBefore = loadavg()[0];
    const turns = await withPrograms({ signal }, async (start) => {
      const pair = [
        await startVersion("other", resolve(other), join(folder, "other"), start),
        await startVersion("this", HERE, join(folder, "this"), start),
      ];
      return await takeTurns(pair, { rates, beside, rounds, seconds });
    });
    const figures = rates.map((rate) => ({ rate, ...summaryOf(turns.filter((turn) => turn.rate === rate)) }));
    const record = {
      ...{ when: new Date().toISOString(), node: process.version, cores: cpus().length, loadBefore },
      ...{ beside, rounds, seconds, figures, turns },
    };
    print(record);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    return turns.every(({ failed }) => failed === 0) ? 0 : 1;
  });

async function startVersion(name, checkout, dataDir, start) {
  const node = await start(rateProgram("node"), []);
  const service = await start(new URL("service.mjs", import.meta.url), [checkout, node.url, dataDir]);
  const load = await start(rateProgram("load"), [service.url]);
  const otherLoad = await start(rateProgram("load"), [service.url, OTHER_KEY, String(OTHER_USERS)]);
  await load.ask("offer", WARM_UP);
  return { name, service, load, otherLoad };
}

async function takeTurns(pair, { rates, beside, rounds, seconds }) {
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    for (const rate of rates) {
      // The one after the other gains or loses by it, so they change places.
      for (const version of round % 2 === 0 ? pair : pair.toReversed()) {
        turns.push({
          round,
          rate,
          name: version.name,
          ...(await measure(version, { rate, beside, seconds })),
        });
      }
    }
    console.log(`round ${round + 1}/${rounds}`);
  }
  return turns;
}

/** Offers one version its load; processor times are for each request. */
async function measure({ service, load, otherLoad }, { rate, beside, seconds }) {
  await load.ask("prepare", { count: rate * seconds });
  const before = await service.ask("usage");
  const [{ quantiles, total, failed }, others] = await Promise.all([
    load.ask("offer", { perSecond: rate, seconds }),
    otherLoad.ask("offer", { perSecond: beside, seconds }),
  ]);
  const after = await service.ask("usage");
  const perRequest = (name) => ((after[name] - before[name]) * 1_000) / total;
  return {
    ...{ p50: quantiles.p50, p90: quantiles.p90, p99: quantiles.p99, beside: others.quantiles.p50 },
    failed: failed + others.failed,
    ...{ service: perRequest("cpuMs"), database: perRequest("childrenCpuMs") },
  };
}

function summaryOf(turns) {
  const mediansOf = (version) => {
    const own = turns.filter(({ name }) => name === version);
    return Object.fromEntries(Object.keys(FIGURES).map((name) => [name, median(own.map((t) => t[name]))]));
  };
  const [other, own] = [mediansOf("other"), mediansOf("this")];
  const ratios = Object.fromEntries(Object.keys(FIGURES).map((name) => [name, own[name] / other[name]]));
  return { other, this: own, ratios };
}

function print({ node, cores, loadBefore, beside, rounds, seconds, figures }) {
  console.log(`\nnode ${node}, ${cores} cores, load before: ${loadBefore.toFixed(1)}`);
  console.log(`medians of ${rounds} rounds of ${seconds} s`);
  for (const { rate, other, this: own, ratios } of figures) {
    console.log(`\n${`${rate} requests a second`.padEnd(24)}    other     this    ratio`);
    for (const [name, title] of Object.entries(FIGURES)) {
      if (name === "beside" && beside === 0) continue;
      const digits = title.endsWith("µs") ? 0 : 2;
      const cells = [other[name].toFixed(digits), own[name].toFixed(digits), ratios[name].toFixed(2)];
      console.log(`${title.padEnd(24)}${cells.map((cell) => cell.padStart(9)).join("")}`);
    }
  }
}

await runMain({ usage: USAGE, readOptions, run: main });
