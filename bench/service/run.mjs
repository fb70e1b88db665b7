// npm run bench, without --of: measures the service beside two sample relays. See --help.
import { rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { inFolder } from "../inFolder.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { figuresOf, printReport } from "./report.mjs";
import {
  API_KEY,
  BLOCK_MS,
  IN_TURN,
  PROFILED,
  RATES,
  SATURATION,
  WARM_UP_OFFER,
  WARM_UPS,
} from "./shape.mjs";

export { readOptions, USAGE } from "./options.mjs";

/**
 * Transactions a second that no relay exceeds; the load is enough for this rate. The contestants "node" and "bare" may be faster:
 * they accept a transaction again, so the load starts anew when it is used up.
 */
const MAX_PER_SECOND = 6_000;

/**
 * Contestants that do not run on the devnet: it refuses InnerTxs without a wrapper, its chain starts anew each time, and one key
 * is enough there. The gateway does: a read of a block costs the devnet what it costs a node, and the other node nothing.
 */
const ACCEPTING_ONLY = ["node", "bare", "websocket", "created", "finished"];

/** The contestants that are the service. */
const SERVICES = ["service", "websocket", "gateway", "created", "finished"];

/** The load of the contestants that take no POST of `/v1/submit`, or each transaction more than once. */
const LOAD_KINDS = { node: "node", bare: "bare", websocket: "websocket", gateway: "gateway" };
/** The API keys of the contestants that use another than the configured one. */
const KEY_KINDS = { created: "created", gateway: "gateway" };

const programOf = (name) => new URL(`${name}.mjs`, import.meta.url);

export const run = (options) =>
  inFolder("gas-waiver-bench-", async (workspace) => {
    await report(options, await measure(options, workspace));
    return 0;
  });

async function report({ json, ...options }, results) {
  const { rounds, seconds, finished } = options;
  const record = {
    when: new Date().toISOString(),
    node: process.version,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    load: {
      rounds,
      seconds,
      finished,
      saturation: SATURATION,
      rates: RATES,
      warmUp: [...WARM_UPS, WARM_UP_OFFER],
      blockMs: BLOCK_MS,
    },
    ...results,
    figures: figuresOf(results.runs),
  };
  printReport(record);
  if (json === undefined) return;
  await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
  console.log(`\nwritten to ${json}`);
}

/** Runs the contestants in turn within each round, so that other load on the machine affects all alike. */
async function measure({ rounds, seconds, contestants, nodes, finished }, { folder, signal }) {
  const workspace = { folder, signal, seconds, finished, load: join(folder, "load.txt") };
  progress("signing the load …");
  const rates = RATES.reduce((sum, rate) => sum + rate, 0);
  const warmUp =
    WARM_UPS.reduce((sum, { transactions }) => sum + transactions, 0) +
    WARM_UP_OFFER.perSecond * WARM_UP_OFFER.seconds;
  const count = warmUp + PROFILED.transactions + seconds * (MAX_PER_SECOND * SATURATION.length + rates);
  await runToEnd(programOf("sign"), [workspace.load, String(count)], { signal });
  const runs = {};
  const ceiling = [];
  for (let round = 1; round <= rounds; round++) {
    ceiling.push(await runToEnd(programOf("crypto"), [String(Math.min(seconds, 3))], { signal }));
    for (const node of nodes) {
      for (const contestant of contestants.filter(
        (name) => node === "accepting" || !ACCEPTING_ONLY.includes(name),
      )) {
        const run = await runOne(contestant, node, workspace);
        runs[node] ??= {};
        runs[node][contestant] ??= [];
        runs[node][contestant].push(run);
        progress(`round ${round}/${rounds}  ${node}  ${contestant}  ${summaryOf(run)}`);
      }
    }
  }
  return { ceiling, runs };
}

/** Runs all phases of one contestant, on a node of its own. */
async function runOne(contestant, nodeKind, workspace) {
  const { signal, seconds } = workspace;
  const seeded = contestant === "finished" ? workspace.finished : 0;
  const isService = SERVICES.includes(contestant);
  // A store on the accepting node is kept for the next round. On the devnet the chain starts anew, so the store does.
  const dataDir = join(workspace.folder, `${nodeKind}-${contestant}`);
  if (isService && nodeKind === "accepting") {
    if (seeded > 0) progress(`preparing the store with ${seeded} finished submissions …`);
    await runToEnd(programOf("prepare"), [dataDir, String(seeded)], { signal });
  }
  const measureRun = async (start) => {
    const node = await (nodeKind === "devnet"
      ? start(programOf("devnet"), [])
      : start(programOf("node"), [String(seeded)]));
    const program =
      contestant === "node"
        ? node
        : await start(programOf(isService ? "service" : contestant), [
            node.url,
            dataDir,
            KEY_KINDS[contestant] ?? "configured",
          ]);
    const apiKey = isService ? await program.ask("apiKey") : API_KEY;
    const kind = LOAD_KINDS[contestant] ?? "relay";
    const load = await start(programOf("load"), [workspace.load, program.url, kind, apiKey]);
    const measured = await phases({ program, load, seconds, isService });
    if (kind !== "gateway") return measured;
    return { ...measured, inTurn: await load.ask("inTurn", { ...IN_TURN, nodeUrl: node.url }) };
  };
  try {
    return await withPrograms({ signal }, measureRun);
  } finally {
    if (isService && nodeKind === "devnet") await rm(dataDir, { recursive: true, force: true });
  }
}

async function phases({ program, load, seconds, isService }) {
  // Each phase waits until the contestant has finished its work, which would otherwise burden the next phase.
  const storeUsage = async () => (isService ? await program.ask("storeUsage") : undefined);
  const run = async (phase, options) => {
    const storeBefore = await storeUsage();
    const before = await program.ask("usage");
    const result = await load.ask(phase, options);
    const after = await program.ask("usage");
    await program.ask("settled");
    const store = storeCosts(storeBefore, await storeUsage());
    const usPerTransaction = (ms) => (result.transactions > 0 ? (ms * 1_000) / result.transactions : null);
    const cpuUs = usPerTransaction(after.cpuMs - before.cpuMs);
    const childrenCpuUs = usPerTransaction(after.childrenCpuMs - before.childrenCpuMs);
    return { ...result, cpuUs, childrenCpuUs, ...(store && { store }) };
  };
  for (const warmUp of WARM_UPS) await run("saturate", warmUp);
  const saturation = {};
  for (const { batch, connections } of SATURATION) {
    saturation[batch] = await run("saturate", { batch, connections, seconds });
  }
  await run("offer", WARM_UP_OFFER);
  const rates = {};
  for (const perSecond of RATES) rates[perSecond] = await run("offer", { perSecond, seconds });
  const { rssMb } = await program.ask("usage");
  const failure = await load.ask("failure");
  if (isService) Object.assign(saturation[PROFILED.batch], await profile(program, load));
  return { saturation, rates, rssMb, ...(failure !== undefined && { failure }) };
}

/** The costs of one submission in the store, and the bytes at rest of one outcome. */
function storeCosts(before, after) {
  if (before === undefined || after === undefined) return undefined;
  const submissions = after.outcomes - before.outcomes;
  return {
    walBytes: (after.walBytes - before.walBytes) / submissions,
    transactionIds: (after.transactionIds - before.transactionIds) / submissions,
    outcomeBytes: after.outcomeBytes / after.outcomes,
  };
}

/** Profiles a run of its own, because profiling slows the service down. */
async function profile(program, load) {
  await program.ask("startProfile");
  const { transactions } = await load.ask("saturate", PROFILED);
  const { stages, functions } = await program.ask("stopProfile");
  const usPerTransaction = (parts) =>
    Object.fromEntries(Object.entries(parts).map(([name, ms]) => [name, (ms * 1_000) / transactions]));
  return { stages: usPerTransaction(stages), functions: usPerTransaction(functions) };
}

function summaryOf({ saturation, rates, rssMb, failure }) {
  const perSecond = Object.values(saturation).map((phase) => Math.round(phase.perSecond));
  const p50 = Object.values(rates).map((phase) => phase.p50?.toFixed(1));
  return `${perSecond.join(" / ")} tx/s, p50 ${p50.join(" / ")} ms, ${Math.round(rssMb)} MB${failure ? `; some failed: ${failure}` : ""}`;
}

function progress(line) {
  console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}
