// npm run bench -- --of rate: the service at a fixed rate, its latencies and the causes of the slowest. See --help.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { inFolder } from "../inFolder.mjs";
import { withPrograms } from "../programs.mjs";
import { causesOf, traceSlowest } from "./causes.mjs";
import { flatnessOf } from "./flatness.mjs";
import { printEnd, printHead, printMinute } from "./report.mjs";

export { readOptions, USAGE } from "./options.mjs";

const MINUTE_S = 60;
/** Requests before the measurement, for which V8 compiles the code. */
const WARM_UP = { perSecond: 200, seconds: 5 };
/** Fewer minutes have no thirds to compare. */
const FEWEST_MINUTES = 3;

const programOf = (name) => new URL(`${name}.mjs`, import.meta.url);

export const run = ({ json, rate, "rpc-rate": rpcRate, seconds, slowest }) =>
  inFolder("gas-waiver-rate-", async (workspace) => {
    const machine = { node: process.version, cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length };
    const loadBefore = loadavg()[0];
    const { minutes, traces, quantiles, node } = await withService(workspace, rpcRate, (programs) =>
      measure(programs, { rate, seconds, slowest }),
    );
    const flatness =
      minutes.length < FEWEST_MINUTES ? [] : flatnessOf(minutes, Math.min(5, Math.ceil(minutes.length / 10)));
    const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
    const record = {
      ...{ when: new Date().toISOString(), ...machine, loadBefore, rate, rpcRate, seconds, failed, flatness },
      ...{ quantiles, requestsToNode: node, causes: causesOf(traces), minutes, traces },
    };
    printEnd(record);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    return failed + node.refused === 0 && flatness.every(({ isFlat }) => isFlat) ? 0 : 1;
  });

/** Starts node, service and load, lets `use` work with them, and ends them. The service has had a warm-up. */
function withService({ folder, signal }, rpcRate, use) {
  return withPrograms({ signal }, async (start) => {
    const node = await start(programOf("node"), rpcRate > 0 ? ["public"] : []);
    const service = await start(programOf("service"), [node.url, join(folder, "store"), String(rpcRate)]);
    const load = await start(programOf("load"), [service.url]);
    await load.ask("offer", WARM_UP);
    await service.ask("pauses");
    return use({ node, service, load });
  });
}

/** Offers the load minute by minute, so that transactions are signed and the slowest traced between the minutes. */
async function measure({ node, service, load }, { rate, seconds, slowest }) {
  printHead();
  const minutes = [];
  let traces = [];
  await load.ask("begin");
  for (let left = seconds; left > 0; left -= MINUTE_S) {
    const part = Math.min(left, MINUTE_S);
    await load.ask("prepare", { count: rate * part });
    const before = await service.ask("usage");
    const offered = await load.ask("offer", { perSecond: rate, seconds: part, slowest });
    const after = await service.ask("usage");
    const cpuMs = after.cpuMs - before.cpuMs + (after.childrenCpuMs ?? 0) - (before.childrenCpuMs ?? 0);
    const { quantiles, achieved, failed, failure } = offered;
    const minute = {
      ...{ minute: minutes.length + 1, rssMb: after.rssMb, achieved, failed, failure },
      ...{ p50: quantiles.p50, p99: quantiles.p99, max: quantiles.max, cores: cpuMs / 1_000 / part },
    };
    printMinute(minute);
    minutes.push(minute);
    traces.push(...(await traceSlowest(offered.slowest, { service, node })));
    traces = traces.sort((a, b) => b.ms - a.ms).slice(0, slowest);
  }
  return { minutes, traces, quantiles: await load.ask("quantiles"), node: await node.ask("counts") };
}
