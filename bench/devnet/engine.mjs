// Runs the engine alone: calls the node's methods in this process. Prints its result as JSON.
//
//   node [--expose-gc] engine.mjs <wrapped|plain> <transactions> <totals at which a slice of the run ends, such as 2000,10000> <warm-up transactions>
import { createDevnet } from "../../packages/devnet/dist/index.js";
import { LOADS } from "./load.mjs";
import { BLOCK } from "./shape.mjs";

const MB = 2 ** 20;
/** The transactions signed at a time. A small number keeps the load out of the measured memory. */
const SIGNED_AT_ONCE = 5_000;

const [kind, count, sliceEnds, warm] = process.argv.slice(2);
const total = Number(count);
const warmUp = Number(warm);
const ends = sliceEnds.split(",").map(Number);

const devnet = await createDevnet({ blockTimeMs: 0, automine: false });
for (const raw of LOADS[kind](0, warmUp)) await send(raw);
await devnet.mine();
const before = liveMemory();
let raws = [];
let sent = 0;
let ms = 0;
let cpuMs = 0;
let longestBlockMs = 0;
let longestStallMs = 0;
let peak = 0;
const curve = [];
let slice = { from: 0, ms: 0, cpuMs: 0 };

while (sent < total) {
  if (raws.length === 0) raws = LOADS[kind](warmUp + sent, Math.min(SIGNED_AT_ONCE, total - sent));
  const block = raws.splice(0, BLOCK);
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (const raw of block) await send(raw);
  const allSent = performance.now();
  const stall = watchStalls();
  await devnet.mine();
  longestStallMs = Math.max(longestStallMs, stall());
  const end = performance.now();
  const used = process.cpuUsage(cpu);
  sent += block.length;
  longestBlockMs = Math.max(longestBlockMs, end - allSent);
  peak = Math.max(peak, process.memoryUsage.rss());
  slice.ms += end - start;
  slice.cpuMs += (used.user + used.system) / 1000;
  if (sent < ends[0] && sent < total) continue;
  ends.shift();
  ms += slice.ms;
  cpuMs += slice.cpuMs;
  curve.push({ ...slice, to: sent, ...rates(sent - slice.from, slice), liveMb: liveMemory() / MB });
  slice = { from: sent, ms: 0, cpuMs: 0 };
}

const drops = devnet.drops().length;
const head = await devnet.request({ method: "eth_getBlockByNumber", params: ["latest", false] });
const blocks = Number(head.number) - 1;
const held = liveMemory() - before;
await devnet.close();
if (drops > 0) throw new Error(`${drops} transactions were dropped`);

console.log(
  JSON.stringify({
    kind,
    transactions: total,
    blocks,
    ...rates(total, { ms, cpuMs }),
    longestStallMs,
    longestBlockMs,
    memoryPerBlockKb: held / blocks / 1024,
    memoryPerTransactionBytes: held / total,
    peakRssMb: peak / MB,
    curve,
  }),
);

function send(raw) {
  return devnet.request({ method: "eth_sendRawTransaction", params: [raw] });
}

function rates(transactions, { ms, cpuMs }) {
  return { perSecond: (transactions / ms) * 1000, perCpuSecond: (transactions / cpuMs) * 1000 };
}

/**
 * The memory in use after a garbage collection, buffers outside the heap included; NaN without --expose-gc. A forced
 * collection also discards compiled code: the next 4,000 transfers take a sixth longer. The rates of the
 * rounds are measured without it; those of the long run's slices include it.
 */
function liveMemory() {
  if (globalThis.gc === undefined) return Number.NaN;
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Measures the stalls of the event loop. @returns a function that stops and returns the longest stall in ms. */
function watchStalls() {
  let last = performance.now();
  let longest = 0;
  let turn = setImmediate(next);
  function note() {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  function next() {
    note();
    turn = setImmediate(next);
  }
  return () => {
    clearImmediate(turn);
    note();
    return longest;
  };
}
