// npm run bench:tail: the histogram of latencies at a fixed rate, and the causes of the slowest. See --help.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { causesOf, traceSlowest } from "./causes.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { withService } from "./programs.mjs";

const main = ({ rate, seconds, slowest: count, json }) =>
  inFolder("gas-waiver-tail-", async (workspace) => {
    const loadBefore = loadavg()[0];
    const { traces, ...result } = await withService(workspace, async (programs) => {
      console.log("signing the load …");
      await programs.load.ask("prepare", { count: rate * seconds });
      console.log(`${rate} requests a second for ${seconds} s …`);
      const offered = await programs.load.ask("offer", { perSecond: rate, seconds, slowest: count });
      const { slowest, ...figures } = offered;
      return { ...figures, traces: await traceSlowest(slowest, programs) };
    });
    const record = {
      ...{ when: new Date().toISOString(), node: process.version },
      ...{ cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, loadBefore, rate, seconds },
      ...result,
      causes: causesOf(traces),
      traces,
    };
    print(record);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    return record.failed === 0 ? 0 : 1;
  });

function print({ node, cores, cpu, loadBefore, rate, achieved, failed, failure, quantiles, causes, traces }) {
  console.log(`\nnode ${node}, ${cores} cores, ${cpu}; load before: ${loadBefore.toFixed(1)}`);
  console.log(
    `${achieved.toFixed(0)} of ${rate} a second, ${failed} failed${failure ? `, the first: ${failure}` : ""}\n`,
  );
  for (const [name, ms] of Object.entries(quantiles)) {
    console.log(`${name.padEnd(8)}${ms.toFixed(1).padStart(9)} ms`);
  }
  console.log(`\nthe slowest ${traces.length}, by their longest station:`);
  for (const { cause, requests, meanMs, withGc, withBusyLoop } of causes) {
    const beside = `beside garbage collection ${withGc}, busy event loop ${withBusyLoop}`;
    console.log(
      `${String(requests).padStart(6)}  ${cause.padEnd(42)}${meanMs.toFixed(0).padStart(6)} ms; ${beside}`,
    );
  }
}

await runMain({ usage: USAGE, readOptions, run: main });
