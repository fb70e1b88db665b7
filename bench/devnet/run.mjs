// npm run bench -- --of devnet: measures the devnet, compared with anvil. See --help.
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { inFolder } from "../inFolder.mjs";
import { startAnvil } from "./anvil.mjs";
import { runToEnd, startNode } from "./programs.mjs";
import { figuresOf, printReport } from "./report.mjs";
import { BATCH, BLOCK, CONNECTIONS, WARM_UP } from "./shape.mjs";

export { readOptions, USAGE } from "./options.mjs";

/** The long run has this many times the transactions of one run of a round, at most MAX_LONG_RUN. */
const LONG_RUN_FACTOR = 20;
const MAX_LONG_RUN = 100_000;

export const run = ({ json, transactions, rounds }) =>
  inFolder("gas-waiver-devnet-", async ({ signal }) => {
    const results = await measure({ transactions, rounds, signal });
    const report = {
      when: new Date().toISOString(),
      node: process.version,
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      load: { transactions, rounds, batch: BATCH, block: BLOCK, connections: CONNECTIONS, warmUp: WARM_UP },
      ...results,
      figures: figuresOf(results),
    };
    printReport(report);
    if (json === undefined) return 0;
    await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`);
    console.log(`\nwritten to ${json}`);
    return 0;
  });

/** The measurements of a round take turns, so that other load on the machine affects all of them. */
async function measure({ transactions, rounds, signal }) {
  const count = String(transactions);
  const warm = String(WARM_UP);
  const engine = (kind) => runToEnd("engine.mjs", [kind, count, count, warm], { signal });
  const http = async (start, kind) => {
    const node = await start();
    try {
      return await runToEnd("client.mjs", [node.url, String(node.pid), kind, count, warm], { signal });
    } finally {
      await node.close();
    }
  };
  const kinds = {
    engineWrapped: () => engine("wrapped"),
    enginePlain: () => engine("plain"),
    httpWrapped: () => http(startNode, "wrapped"),
    httpPlain: () => http(startNode, "plain"),
    anvilPlain: () => http(startAnvil, "plain"),
  };
  const runs = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [name, run] of Object.entries(kinds)) {
      const result = await run();
      runs[name].push(result);
      progress(`round ${round}/${rounds}  ${name}  ${Math.round(result.perSecond)} tx/s`);
    }
  }
  progress("where the engine's time goes …");
  const breakdown = {
    wrapped: await runToEnd("breakdown.mjs", ["wrapped", count], { signal }),
    plain: await runToEnd("breakdown.mjs", ["plain", count], { signal }),
  };
  const long = Math.min(MAX_LONG_RUN, LONG_RUN_FACTOR * transactions);
  progress(`one engine over ${long} wrapped transfers …`);
  const growth = await runToEnd("engine.mjs", ["wrapped", String(long), slicesUpTo(long), "0"], {
    signal,
    node: ["--expose-gc"],
  });
  return { runs, breakdown, growth };
}

function slicesUpTo(long) {
  return [2_000, 10_000, 50_000, MAX_LONG_RUN]
    .filter((end) => end < long)
    .concat(long)
    .join(",");
}

function progress(line) {
  console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}
