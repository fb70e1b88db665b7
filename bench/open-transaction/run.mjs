// npm run bench -- --of open-transaction: what a transaction that stays open in the database costs. See --help.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { inFolder } from "../inFolder.mjs";
import { median } from "../median.mjs";
import { runToEnd, withPrograms } from "../programs.mjs";
import { openDatabase } from "./statements.mjs";

export { readOptions, USAGE } from "./options.mjs";

const MAX_RATIO = 2;
const WARM_UP = 3_000;
const FILL = { batch: 100, connections: 8, seconds: 3_600 };

const programOf = (name) => new URL(`../service/${name}.mjs`, import.meta.url);

export const run = (options) =>
  inFolder("gas-waiver-open-transaction-", async ({ folder, signal }) => {
    const { rate, seconds, dead, rounds, keys, json } = options;
    console.log(`node ${process.version}, ${cpus().length} cores; load before: ${loadavg()[0].toFixed(1)}`);
    const file = join(folder, "load.txt");
    const count = WARM_UP + rounds * 2 * (dead + rate * seconds) + FILL.batch;
    console.log(`signing ${count.toLocaleString("en")} transactions …`);
    await runToEnd(programOf("sign"), [file, String(count)], { signal });
    const runs = [];
    for (const kind of keys) {
      const found = await withService({ folder: join(folder, kind), file, kind, signal }, (programs) =>
        measure(programs, { rate, seconds, dead, rounds, kind }),
      );
      runs.push(...found);
    }
    const results = keys.map((kind) => resultOf(kind, runs));
    for (const { kind, closed, open, ratio } of results) {
      console.log(
        `\n${kind} key: the median is ${closed.toFixed(1)} ms without the open transaction and ${open.toFixed(1)} ms beside it, ${ratio.toFixed(2)} times`,
      );
    }
    const record = {
      ...{ when: new Date().toISOString(), node: process.version, cpu: cpus()[0]?.model ?? "unknown" },
      ...{ cores: cpus().length, rate, seconds, dead, rounds, results, runs },
    };
    if (json !== undefined) await writeFile(json, `${JSON.stringify(record, undefined, 2)}\n`);
    const failed = runs.reduce((sum, run) => sum + run.failed, 0);
    return failed === 0 && results.every(({ ratio }) => ratio <= MAX_RATIO) ? 0 : 1;
  });

/** Runs the programs of a measurement, which begins with a warm-up. */
function withService({ folder, file, kind, signal }, use) {
  return withPrograms({ signal }, async (start) => {
    const node = await start(programOf("node"), []);
    const service = await start(programOf("service"), [node.url, folder, kind]);
    const load = await start(programOf("load"), [file, service.url, "relay", await service.ask("apiKey")]);
    await load.ask("saturate", { ...FILL, transactions: WARM_UP });
    const database = await openDatabase(folder);
    try {
      return await use({ service, load, database });
    } finally {
      await database.close();
    }
  });
}

async function measure(programs, { rounds, ...options }) {
  const runs = [];
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? [false, true] : [true, false];
    for (const isOpen of order) {
      const run = await measureOnce(programs, { ...options, isOpen });
      runs.push(run);
      print(run);
    }
  }
  return runs;
}

async function measureOnce({ service, load, database }, { rate, seconds, dead, isOpen, kind }) {
  await service.ask("settled");
  await database.vacuum();
  const endTransaction = isOpen ? await database.openTransaction() : async () => {};
  const fill = dead > 0 ? await load.ask("saturate", { ...FILL, transactions: dead }) : { failed: 0 };
  await service.ask("settled");
  const before = await service.ask("usage");
  const offered = await load.ask("offer", { perSecond: rate, seconds });
  const after = await service.ask("usage");
  await service.ask("settled");
  const figures = {
    ...{ kind, isOpen, p50: offered.p50, p99: offered.p99, failed: offered.failed + fill.failed },
    fillPerSecond: fill.perSecond,
    databaseMs: (after.childrenCpuMs - before.childrenCpuMs) / offered.transactions,
    statements: await database.statementTimes(),
    deadRows: await database.deadRows(),
  };
  await endTransaction();
  return figures;
}

function print({ kind, isOpen, p50, p99, failed, fillPerSecond, databaseMs, statements, deadRows }) {
  const list = (values, digits) =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
      .join(", ");
  console.log(`\n${kind} key, ${isOpen ? "beside an open transaction" : "without an open transaction"}`);
  console.log(
    `  p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${failed} failed; before: ${fillPerSecond?.toFixed(0) ?? 0} a second; database's processor time ${databaseMs.toFixed(2)} ms a submission`,
  );
  console.log(`  statements, ms: ${list(statements, 2)}`);
  console.log(`  dead rows: ${list(deadRows, 0)}`);
}

function resultOf(kind, runs) {
  const of = (isOpen) =>
    median(runs.filter((run) => run.kind === kind && run.isOpen === isOpen).map(({ p50 }) => p50));
  const [closed, open] = [of(false), of(true)];
  return { kind, closed, open, ratio: open / closed };
}
