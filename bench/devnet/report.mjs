import { median } from "../median.mjs";

const NAMES = {
  engineWrapped: "wrapped, engine alone",
  enginePlain: "plain, engine alone",
  httpWrapped: "wrapped, over HTTP",
  httpPlain: "plain, over HTTP",
  anvilPlain: "plain, anvil over HTTP",
};

/** Computes medians, and ratios within each round. */
export function figuresOf({ runs, growth }) {
  const perSecond = Object.fromEntries(
    Object.entries(runs).map(([name, list]) => [name, median(list.map((run) => run.perSecond))]),
  );
  const perCpuSecond = Object.fromEntries(
    Object.entries(runs)
      .filter(([, list]) => list.every((run) => run.perCpuSecond !== undefined))
      .map(([name, list]) => [name, median(list.map((run) => run.perCpuSecond))]),
  );
  const ratio = (a, b) =>
    median(runs[a].map((run, round) => run.perSecond / (runs[b][round]?.perSecond ?? Number.NaN)));
  return {
    perSecond,
    perCpuSecond,
    ratios: {
      httpPlainToAnvil: ratio("httpPlain", "anvilPlain"),
      httpWrappedToHttpPlain: ratio("httpWrapped", "httpPlain"),
      httpWrappedToEngine: ratio("httpWrapped", "engineWrapped"),
    },
    longestStallMs: median(runs.engineWrapped.map((run) => run.longestStallMs)),
    memoryPerBlockKb: growth.memoryPerBlockKb,
  };
}

export function printReport({ node, cpu, cores, load, runs, figures, breakdown, growth }) {
  const { transactions, rounds, batch, block, connections } = load;
  print(`\nnode ${node}, ${cores} cores, ${cpu}`);
  print(
    `${transactions} transactions a run, ${rounds} rounds; batches of ${batch} over ${connections} connections, blocks of ${block}\n`,
  );
  print("transactions a second (medians)           least    most   per CPU second");
  for (const [name, title] of Object.entries(NAMES)) {
    const rates = runs[name].map(({ perSecond }) => perSecond);
    const cpuRate = figures.perCpuSecond[name];
    print(
      `  ${title.padEnd(26)}${whole(median(rates), 9)}${whole(Math.min(...rates), 10)}${whole(Math.max(...rates), 8)}${cpuRate ? whole(cpuRate, 12) : ""}`,
    );
  }
  const { ratios } = figures;
  print("\nratios (medians of the rounds)");
  print(`  plain, devnet to anvil       ${ratios.httpPlainToAnvil.toFixed(2)}`);
  print(`  wrapped to plain             ${ratios.httpWrappedToHttpPlain.toFixed(2)}`);
  print(`  wrapped, HTTP to engine      ${ratios.httpWrappedToEngine.toFixed(2)}`);
  printBreakdown(breakdown);
  printGrowth(growth, figures);
}

function printBreakdown({ wrapped, plain }) {
  const parts = ["decode", "recover", "policy", "execute", "seal", "rest", "total"];
  print(`\nengine, µs per transaction${parts.map((part) => part.padStart(9)).join("")}`);
  for (const [title, microseconds] of Object.entries({ wrapped, plain })) {
    const cells = parts.map((part) =>
      microseconds[part] === undefined ? "–".padStart(9) : whole(microseconds[part], 9),
    );
    print(`  ${title.padEnd(24)}${cells.join("")}`);
  }
}

function printGrowth(
  { curve, peakRssMb, memoryPerBlockKb, memoryPerTransactionBytes, transactions },
  figures,
) {
  print(`\none engine over ${transactions} wrapped transfers`);
  print("  transactions             tx/s   per CPU second   memory in use");
  for (const { from, to, perSecond, perCpuSecond, liveMb } of curve) {
    const range = `${from}–${to}`;
    print(
      `  ${range.padEnd(20)}${whole(perSecond, 9)}${whole(perCpuSecond, 17)}${`${Math.round(liveMb)} MB`.padStart(16)}`,
    );
  }
  print(
    `  memory: ${Math.round(memoryPerBlockKb)} KB a block, ${Math.round(memoryPerTransactionBytes)} bytes a transaction; most resident ${Math.round(peakRssMb)} MB`,
  );
  print(
    `  longest stall of the event loop while a block is built, in the rounds' wrapped runs: ${figures.longestStallMs.toFixed(1)} ms (median)`,
  );
}

function whole(value, width) {
  return Math.round(value).toLocaleString("en").padStart(width);
}

function print(line) {
  console.log(line);
}
