// npm run bench:fair: looks for the mixture of attackers that hurts an honest party most. See --help.
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { withPrograms } from "../programs.mjs";
import { changed, createRandom, describe, drawMixture } from "./grammar.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { MAX_RSS_MB } from "./shape.mjs";
import { walletsBeside } from "./walletsBeside.mjs";

const HERE = fileURLToPath(new URL("../..", import.meta.url));
const ownProgram = (name) => new URL(`${name}.mjs`, import.meta.url);
const REST_MS = 1_500;
const WARM_UP_MS = 3_000;
/** Mixtures that are drawn before the search climbs, and those in a row without success after which it draws anew. */
const FIRST_DRAWS = 5;
const PATIENCE = 6;
const MAX_MEDIAN_MS = 20;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const main = (options) =>
  inFolder("gas-waiver-fair-", async ({ folder, signal }) => {
    console.log(`node ${process.version}, ${cpus().length} cores, load before: ${loadavg()[0].toFixed(1)}`);
    const found = await withPrograms({ signal }, (start) => search(start, folder, options));
    const worst = found.slice(0, Math.max(1, options.again));
    for (const one of worst) print(one);
    const broken = worst.filter(({ hurt }) => hurt > 1);
    console.log(`${found.length} mixtures; ${broken.length} of the ${worst.length} worst break the law`);
    if (options.json !== undefined)
      await writeFile(options.json, `${JSON.stringify({ ...options, found }, undefined, 2)}\n`);
    return broken.length === 0 ? 0 : 1;
  });

async function search(start, folder, { seed, minutes, attackers, seconds, again, checkout, replay, at }) {
  const random = createRandom(seed);
  const stage = await setStage(start, folder, checkout === "" ? HERE : resolve(checkout), seconds);
  // An attack on a service that V8 has not compiled yet says little about one that runs for years.
  await stage.measure(drawMixture(createRandom(seed), attackers));
  if (replay !== "") return await measureAgain(stage, JSON.parse(await readFile(replay, "utf8")).found, at);
  const until = performance.now() + minutes * 60_000;
  const found = [];
  let worst;
  for (let fails = 0; performance.now() < until; ) {
    const isDraw = worst === undefined || found.length < FIRST_DRAWS || fails >= PATIENCE;
    const mixture = isDraw ? drawMixture(random, attackers) : changed(worst.mixture, random);
    const result = await stage.measure(mixture);
    found.push(result);
    const isWorse = worst === undefined || result.hurt > worst.hurt;
    fails = isWorse || isDraw ? 0 : fails + 1;
    if (isWorse) worst = result;
    console.log(`${found.length}. ${summaryOf(result)}${isWorse ? "  <- the worst so far" : ""}`);
  }
  // The worst of many measurements was also unlucky, so what counts is the median of three. A mixture that is among the worst once
  // the others have theirs gets its own.
  const settled = new Set();
  for (;;) {
    found.sort((a, b) => b.hurt - a.hurt);
    const next = found.findIndex((one, i) => i < again && !settled.has(one));
    if (next < 0) break;
    const { mixture } = found[next];
    found[next] = middleOf([found[next], await stage.measure(mixture), await stage.measure(mixture)]);
    settled.add(found[next]);
  }
  return found;
}

const middleOf = (results) => results.sort((a, b) => a.hurt - b.hurt)[1];

/** Measures mixtures of an earlier search, or those at some places of its list, three times each. */
async function measureAgain(stage, earlier, at) {
  const places = at === "" ? earlier.map((_, i) => i + 1) : at.split(",").map(Number);
  const found = [];
  for (const place of places) {
    const results = [];
    for (let time = 0; time < 3; time++) {
      results.push(await stage.measure(earlier[place - 1].mixture));
      console.log(`${place}. ${summaryOf(results.at(-1))}`);
    }
    found.push(middleOf(results));
  }
  return found;
}

/** Starts the service, and a target that only refuses, each with attackers of its own. */
async function setStage(start, folder, checkout, seconds) {
  const node = await start(new URL("../abuse/node.mjs", import.meta.url), []);
  const service = await start(ownProgram("service"), [checkout, node.url, join(folder, "data")]);
  const floor = await start(new URL("../abuse/floor.mjs", import.meta.url), []);
  const honest = await start(ownProgram("honest"), [service.url, "0"]);
  // Attackers have machines of their own. Here, they have what the service and the database leave of this one.
  const attackers = await start(ownProgram("attacker"), [service.url, "10000000"], { isLow: true });
  const mock = await start(ownProgram("attacker"), [floor.url, "500000000"], { isLow: true });
  await honest.ask("begin", { wallets: walletsBeside([]) });
  await sleep(WARM_UP_MS);
  await honest.ask("stop");
  const beside = async (program, mixture) => {
    await program.ask("prepare", { mixture });
    await service.ask("begin");
    await honest.ask("begin", { wallets: walletsBeside(mixture) });
    const { requests } = await program.ask("attack", { seconds });
    const latencies = await honest.ask("stop");
    const figures = await service.ask("figures");
    await sleep(REST_MS);
    return { ...latencies, ...figures, requests };
  };
  return {
    async measure(mixture) {
      const control = await beside(mock, mixture);
      const attacked = await beside(attackers, mixture);
      return { mixture, control, attacked, ...hurtOf(control, attacked) };
    },
  };
}

/** How much of its bounds the law uses up: above 1 it is broken. */
function hurtOf(control, attacked) {
  const shares = {};
  for (const party of ["submit", "call"]) {
    const [quiet, own] = [control[party], attacked[party]];
    shares[`${party} p50`] = own.p50 / (2 * quiet.p50 + MAX_MEDIAN_MS);
    shares[`${party} p99`] = own.p99 / (5 * quiet.p99);
  }
  shares.memory = attacked.peakRssMb / MAX_RSS_MB;
  shares.failed =
    attacked.failed === 0 ? 0 : 1 + attacked.failed / (attacked.submit.count + attacked.call.count);
  const [why, hurt] = Object.entries(shares).sort(([, a], [, b]) => b - a)[0];
  return { hurt, why };
}

function summaryOf({ hurt, why, control, attacked }) {
  const of = (party) =>
    `${party} ${[control, attacked].map((run) => `${run[party].p50.toFixed(0)}/${run[party].p99.toFixed(0)}`).join(" -> ")} ms`;
  const [quiet, busy] = [control, attacked].map(({ waited }) => (100 * waited).toFixed(0));
  const failed = attacked.failed > 0 ? `, ${attacked.failed} failed: ${attacked.failure}` : "";
  return `hurt ${hurt.toFixed(2)} (${why}): ${of("submit")}, ${of("call")}, ${attacked.peakRssMb.toFixed(0)} MB, waited ${quiet} -> ${busy} %${failed}`;
}

function print(result) {
  console.log(`\n${summaryOf(result)}`);
  for (const [i, attacker] of result.mixture.entries())
    console.log(`  ${describe(attacker)}: ${result.attacked.requests[i]} requests`);
}

await runMain({ usage: USAGE, readOptions, run: main });
