// npm run bench:years: measures the service on a store with the outcomes of 90 days beside an empty one. See --help.
import { spawn } from "node:child_process";
import { mkdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { runToEnd, startProgram, withPrograms } from "../programs.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { figuresOf, printReport } from "./report.mjs";
import { BYTES_PER_ROW, KNOWN, pastDays, SENT_PER_ROUND, SPARE_BYTES, today } from "./shape.mjs";

const programOf = (name) => new URL(`${name}.mjs`, import.meta.url);
const serviceProgram = (name) => new URL(`../service/${name}.mjs`, import.meta.url);
const GAS_WAIVER = fileURLToPath(new URL("../../packages/cli/bin/gas-waiver.mjs", import.meta.url));

const main = (options) =>
  inFolder("gas-waiver-years-", async ({ folder, signal }) => {
    const fullDir = options["data-dir"] === "" ? join(folder, "full") : resolve(options["data-dir"]);
    const workspace = { folder, signal, load: join(folder, "load.txt"), hashes: join(folder, "hashes.txt") };
    const end = await claimFolder(fullDir, options.rows);
    if (end === undefined) return 1;
    progress("signing the load …");
    const sent = KNOWN + (options.rounds + 1) * SENT_PER_ROUND;
    await runToEnd(serviceProgram("sign"), [workspace.load, String(sent)], { signal });
    const stores = [];
    try {
      for (const [name, dataDir, rows] of [
        ["empty", join(folder, "empty"), 0],
        ["full", fullDir, options.rows],
      ]) {
        stores.push(await openStore(name, { dataDir, rows, end }, workspace));
      }
      const results = await measure(stores, options, { ...workspace, end });
      await report(options, results, stores);
    } finally {
      for (const { node } of stores) await node.close();
    }
    return 0;
  });

/**
 * Makes sure that the folder has the rows of an earlier run, or the disk has room for them.
 * @returns the day after the last one of the store; undefined if the folder cannot be used, which is printed.
 */
async function claimFolder(dataDir, rows) {
  await mkdir(dataDir, { recursive: true });
  const marker = join(dataDir, "years.json");
  const earlier = JSON.parse(await readFile(marker, "utf8").catch(() => "null"));
  if (earlier !== null && earlier.rows !== rows) {
    console.error(`${dataDir} was filled with --rows ${earlier.rows}: give that, or another folder`);
    return undefined;
  }
  if (earlier?.isFull) return earlier.end;
  const needed = rows * BYTES_PER_ROW + SPARE_BYTES;
  const { bavail, bsize } = await statfs(dataDir);
  const gigabytes = (bytes) => (bytes / 1e9).toFixed(1);
  progress(
    `the full store needs about ${gigabytes(needed)} GB, and ${dataDir} has ${gigabytes(bavail * bsize)} GB`,
  );
  if (bavail * bsize < needed) {
    console.error("the disk has no room for so many outcomes: give fewer --rows, or another --data-dir");
    return undefined;
  }
  const end = earlier?.end ?? today();
  await writeFile(marker, JSON.stringify({ rows, end, isFull: false }));
  return end;
}

/** Fills a store and starts its node, which has the waiver's nonces for as long as the benchmark runs. */
async function openStore(name, { dataDir, rows, end }, { load, hashes, signal }) {
  progress(`filling the ${name} store with ${rows.toLocaleString("en")} outcomes …`);
  const startedAt = performance.now();
  const args = [dataDir, String(rows), end, load, hashes];
  const { nextNonce, megabytes, summarySeconds } = await runToEnd(programOf("fill"), args, { signal });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (rows > 0) await writeFile(join(dataDir, "years.json"), JSON.stringify({ rows, end, isFull: true }));
  const node = await startProgram(programOf("node"), [String(nextNonce), load], { signal });
  return { name, dataDir, node, seconds, megabytes, summarySeconds };
}

/** Measures both stores in turn, each figure of one directly after that of the other. */
async function measure(stores, { rounds }, workspace) {
  const runs = [];
  let first = KNOWN;
  for (let round = 1; round <= rounds + 1; round++) {
    const order = round % 2 === 1 ? stores : stores.toReversed();
    const isLast = round === rounds + 1;
    const run = await measureRound(order, first, workspace, isLast ? measureOnce : measureAll);
    first += SENT_PER_ROUND;
    runs.push(run);
    if (!isLast) progress(`round ${round}/${rounds}: ${summaryOf(run)}`);
  }
  return { runs: runs.slice(0, -1), once: runs.at(-1) };
}

async function measureRound(stores, first, { load, hashes, end, signal }, run) {
  return withPrograms({ signal }, async (start) => {
    const running = [];
    for (const { name, dataDir, node } of stores) {
      const service = await start(programOf("service"), [node.url, dataDir]);
      const { startMs } = await service.ask("started");
      const args = [service.url, load, String(first), end, hashes];
      running.push({ name, dataDir, service, startMs, client: await start(programOf("client"), args) });
    }
    return await run(running, { end, signal });
  });
}

async function measureAll(running) {
  const times = Object.fromEntries(running.map(({ name, startMs }) => [name, { start: [startMs] }]));
  const names = await running[0].client.ask("names");
  for (const measure of names) {
    for (const { name, client, service } of running) {
      const answer = await client.ask("measure", { name: measure });
      if (answer.error !== undefined) throw new Error(`${measure} on the ${name} store: ${answer.error}`);
      times[name][measure] = answer.times;
      // The next figure must not pay for this one's blocks.
      const { times: steps } = await service.ask("steps");
      // A lane at rest accepts and signs in one write, but not under an idempotency key.
      if (measure === "submit 100, keyed") times[name]["a lane's step, of 100"] = steps;
    }
  }
  return times;
}

/** Figures that are taken once: the export of a day, and dropping one while the client submits. */
async function measureOnce(running, workspace) {
  const full = running.find(({ name }) => name === "full");
  const exported = await exportDay(full, workspace);
  const drop = {};
  for (const { name, client, service } of running) {
    const before = await client.ask("measure", { name: "submit one" });
    const submits = client.ask("measure", { name: "submit one" });
    const { ms, oldest } = await service.ask("dropOldestDay");
    const during = await submits;
    const error = before.error ?? during.error;
    if (error !== undefined) throw new Error(`submits on the ${name} store: ${error}`);
    drop[name] = { ms, oldest, before: spread(before.times), during: spread(during.times) };
  }
  return { export: exported, drop };
}

const spread = (times) => ({ median: median(times), max: Math.max(...times) });

async function exportDay(full, { end, signal }) {
  const day = pastDays(end)[45];
  const out = `${full.dataDir}.export`;
  const startedAt = performance.now();
  const args = ["export", "--data-dir", full.dataDir, "--from", day, "--to", day, "--out", out];
  await runCommand(args, signal);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { rows, bytes } = JSON.parse(await readFile(`${out}.manifest.json`, "utf8"));
  for (const file of [out, `${out}.manifest.json`]) await rm(file);
  return { rows, bytes, seconds, perSecond: rows / seconds };
}

async function runCommand(args, signal) {
  const child = spawn(process.execPath, [GAS_WAIVER, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    signal,
  });
  const status = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`gas-waiver ${args[0]} ended with status ${status}`);
}

async function report({ json, rows, rounds }, { runs, once }, stores) {
  const full = stores.find(({ name }) => name === "full");
  const record = {
    ...{ when: new Date().toISOString(), node: process.version },
    ...{ cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, load: loadavg()[0] },
    ...{
      rows,
      rounds,
      fillSeconds: full.seconds,
      summarySeconds: full.summarySeconds,
      megabytes: full.megabytes,
    },
    figures: figuresOf(runs),
    ...once,
    runs,
  };
  if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
  printReport(record);
}

function summaryOf({ empty, full }) {
  const names = ["start", "submit one", "record by id"];
  return names
    .map((name) => `${name} ${median(empty[name]).toFixed(1)} / ${median(full[name]).toFixed(1)} ms`)
    .join(", ");
}

function progress(line) {
  console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}

await runMain({ usage: USAGE, readOptions, run: main });
