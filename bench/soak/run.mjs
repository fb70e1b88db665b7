// npm run bench:soak: whether memory and latency stay flat under a long load. See --help.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { runMain } from "../../scripts/runMain.mjs";
import { inFolder } from "../inFolder.mjs";
import { withService } from "../tail/programs.mjs";
import { flatnessOf } from "./flatness.mjs";
import { readOptions, USAGE } from "./options.mjs";

const MINUTE_S = 60;

const main = ({ rate, minutes: count, json }) =>
  inFolder("gas-waiver-soak-", async (workspace) => {
    console.log(`node ${process.version}, ${cpus().length} cores; load before: ${loadavg()[0].toFixed(1)}`);
    console.log("minute   memory, MB   p50, ms   p99, ms   max, ms   a second   failed   CPU, cores");
    const minutes = await withService(workspace, (programs) => soak(programs, { rate, count }));
    const flatness = flatnessOf(minutes, Math.min(5, Math.ceil(count / 10)));
    const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
    console.log("");
    for (const { name, first, last, growth, most, isFlat } of flatness) {
      const verdict = isFlat ? "flat" : `not flat: ${most} is the most`;
      console.log(
        `${name.padEnd(8)}${first.toFixed(1)} → ${last.toFixed(1)} (${growth.toFixed(2)} times), ${verdict}`,
      );
    }
    const isFlat = flatness.every((figure) => figure.isFlat) && failed === 0;
    const record = {
      ...{ when: new Date().toISOString(), node: process.version },
      ...{
        cpu: cpus()[0]?.model ?? "unknown",
        cores: cpus().length,
        rate,
        isFlat,
        failed,
        flatness,
        minutes,
      },
    };
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    return isFlat ? 0 : 1;
  });

async function soak({ service, load }, { rate, count }) {
  const minutes = [];
  let before = await service.ask("usage");
  for (let minute = 1; minute <= count; minute++) {
    const offered = await load.ask("offer", { perSecond: rate, seconds: MINUTE_S });
    const after = await service.ask("usage");
    // Nobody reads the pauses here.
    await service.ask("pauses");
    const cpuMs = after.cpuMs - before.cpuMs + (after.childrenCpuMs ?? 0) - (before.childrenCpuMs ?? 0);
    before = after;
    const { quantiles, achieved, failed, failure } = offered;
    const figures = {
      ...{ minute, rssMb: after.rssMb, p50: quantiles.p50, p99: quantiles.p99, max: quantiles.max },
      ...{ achieved, failed, failure, cores: cpuMs / 1_000 / MINUTE_S },
    };
    print(figures);
    minutes.push(figures);
  }
  return minutes;
}

function print({ minute, rssMb, p50, p99, max, achieved, failed, failure, cores }) {
  const cells = [
    rssMb.toFixed(0),
    p50.toFixed(1),
    p99.toFixed(1),
    max.toFixed(0),
    achieved.toFixed(0),
    failed,
    cores.toFixed(2),
  ];
  const widths = [13, 10, 10, 10, 11, 9, 13];
  const line = cells.map((cell, i) => String(cell).padStart(widths[i])).join("");
  console.log(`${String(minute).padStart(6)}${line}${failure ? `   ${failure}` : ""}`);
}

await runMain({ usage: USAGE, readOptions, run: main });
