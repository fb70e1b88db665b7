// npm run bench:custody: measures waivers whose custody is slow. See --help.
import { rm, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { runMain } from "../../scripts/runMain.mjs";
import { signed } from "../fair/shape.mjs";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { API_KEY } from "../service/shape.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { KEY_LIMIT } from "./shape.mjs";

const ownProgram = (name) => new URL(`${name}.mjs`, import.meta.url);
const PREPARE = new URL("../service/prepare.mjs", import.meta.url);
const LEAST_SHARE = 0.95;
const WARM_UP_MS = 3_000;
const BATCH = 100;
const CONNECTIONS = 32;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const main = ({ seconds, rounds, json }) =>
  inFolder("gas-waiver-custody-", async (workspace) => {
    console.log(
      `node ${process.version}, ${cpus().length} cores, load before: ${loadavg()[0].toFixed(1)}; ${seconds} s each`,
    );
    console.log("keys   wrappers/s   of the custody's rate   throttled   cores of the service");
    const runs = [];
    for (let round = 0; round < rounds; round++) {
      for (const keys of [1, 4]) {
        const dataDir = join(workspace.folder, `${round}-${keys}`);
        const run = await runOne(keys, { seconds, dataDir, signal: workspace.signal });
        runs.push(run);
        const cells = [String(keys).padEnd(7), run.perSecond.toFixed(0).padEnd(13)];
        console.log(
          `${cells.join("")}${`${(100 * run.share).toFixed(1)} %`.padEnd(24)}${String(run.throttled).padEnd(12)}${run.cores.toFixed(2)}`,
        );
      }
    }
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ seconds, runs }, undefined, 2)}\n`);
    const shareOf = (keys) => median(runs.filter((run) => run.keys === keys).map(({ share }) => share));
    return shareOf(1) >= LEAST_SHARE && shareOf(4) >= LEAST_SHARE ? 0 : 1;
  });

/** Fills the queue, and counts the wrappers that the node has got within the time. */
async function runOne(keys, { seconds, dataDir, signal }) {
  const perSecond = keys * KEY_LIMIT;
  const run = async (start) => {
    await runToEnd(PREPARE, [dataDir, "0"], { signal });
    const node = await start(ownProgram("node"), []);
    const service = await start(ownProgram("service"), [node.url, dataDir, String(keys)]);
    await submit(service.url, perSecond * (seconds + (2 * WARM_UP_MS) / 1_000));
    await service.ask("open");
    await sleep(WARM_UP_MS);
    const before = await node.ask("accepted");
    const begun = performance.now();
    const cpuBefore = await service.ask("usage");
    await sleep(seconds * 1_000);
    const after = await node.ask("accepted");
    const elapsedMs = performance.now() - begun;
    const rate = ((after - before) / elapsedMs) * 1_000;
    const cores = ((await service.ask("usage")).cpuMs - cpuBefore.cpuMs) / elapsedMs;
    const { throttled } = await service.ask("calls");
    return { keys, perSecond: rate, share: rate / perSecond, throttled, cores };
  };
  try {
    return await withPrograms({ signal }, run);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Submits transactions of one sender each. The service gives up waiting for their results soon. */
async function submit(url, count) {
  let next = 0;
  const sendBatches = async () => {
    for (let first = next; first < count; first = next) {
      next += BATCH;
      await submitBatch(url, first);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendBatches));
}

async function submitBatch(url, first) {
  const transactions = Array.from({ length: BATCH }, (_, i) => signed(first + i));
  const response = await fetch(`${url}/v1/submit`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ transactions }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
}

await runMain({ usage: USAGE, readOptions, run: main });
