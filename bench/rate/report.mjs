const COLUMNS = [
  ["minute", ({ minute }) => minute],
  ["memory, MB", ({ rssMb }) => rssMb.toFixed(0)],
  ["p50, ms", ({ p50 }) => p50.toFixed(1)],
  ["p99, ms", ({ p99 }) => p99.toFixed(1)],
  ["max, ms", ({ max }) => max.toFixed(0)],
  ["a second", ({ achieved }) => achieved.toFixed(0)],
  ["failed", ({ failed }) => failed],
  ["CPU, cores", ({ cores }) => cores.toFixed(2)],
];

export function printHead() {
  console.log(COLUMNS.map(([title]) => title.padStart(12)).join(""));
}

export function printMinute(minute) {
  const cells = COLUMNS.map(([, cell]) => String(cell(minute)).padStart(12));
  console.log(`${cells.join("")}${minute.failure ? `   ${minute.failure}` : ""}`);
}

export function printEnd(record) {
  const { node, cores, cpu, loadBefore, quantiles, requestsToNode, flatness, causes, traces } = record;
  console.log(`\nnode ${node}, ${cores} cores, ${cpu}; load before: ${loadBefore.toFixed(1)}`);
  for (const { name, first, last, growth, most, isFlat } of flatness) {
    const verdict = isFlat ? "flat" : `not flat: ${most} is the most`;
    console.log(
      `${name.padEnd(8)}${first.toFixed(1)} → ${last.toFixed(1)} (${growth.toFixed(2)} times), ${verdict}`,
    );
  }
  for (const [name, ms] of Object.entries(quantiles)) {
    console.log(`${name.padEnd(8)}${ms.toFixed(1).padStart(9)} ms`);
  }
  const { requests, refused } = requestsToNode;
  console.log(`\nrequests to the node: ${requests}, of which ${refused} were answered with 429`);
  console.log(`\nthe slowest ${traces.length}, by their longest station:`);
  for (const { cause, requests, meanMs, withGc, withBusyLoop } of causes) {
    const beside = `beside garbage collection ${withGc}, busy event loop ${withBusyLoop}`;
    console.log(
      `${String(requests).padStart(6)}  ${cause.padEnd(42)}${meanMs.toFixed(0).padStart(6)} ms; ${beside}`,
    );
  }
}
