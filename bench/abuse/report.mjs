/** The service's memory may grow by this much during an attack. */
export const MAX_GROWTH_MB = 700;

/** The problems of a run, one sentence each; none if the service withstood the attack. */
export function problemsOf({ name, service, client, errors }) {
  const growth = service.peakRssMb - service.before.rssMb;
  return [
    ...(client.requests === 0 ? ["the well-behaved client was never served"] : []),
    ...(client.failures > 0
      ? [`${client.failures} requests of the well-behaved client failed: ${client.failure}`]
      : []),
    ...(service.unhandled > 0 ? [`${service.unhandled} rejections were not handled`] : []),
    ...(growth > MAX_GROWTH_MB ? [`the memory grew by ${Math.round(growth)} MB`] : []),
    ...errors.map((line) => `the service wrote: ${line}`),
  ].map((problem) => `${name}: ${problem}`);
}

const whole = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));
const time = (ms) => (ms === null ? "–" : ms < 100 ? ms.toFixed(1) : whole(ms));

const COLUMNS = [
  ["before", ({ service }) => whole(service.before.rssMb)],
  ["peak", ({ service }) => whole(service.peakRssMb)],
  ["after", ({ service }) => whole(service.after.rssMb)],
  ["cores", ({ service }) => service.cpuCores.toFixed(2)],
  ["loop p99", ({ service }) => time(service.loopDelayMs.p99)],
  ["max", ({ service }) => time(service.loopDelayMs.max)],
  ["requests", ({ client }) => whole(client.requests)],
  ["failed", ({ client }) => whole(client.failures)],
  ["floor p50", ({ floor }) => time(floor.p50)],
  ["p50", ({ client }) => time(client.p50)],
  ["p99", ({ client }) => time(client.p99)],
];

export function printHead() {
  console.log(`${"".padEnd(20)}memory, MB              service    delay, ms          the client, ms`);
  console.log(`${"attack".padEnd(18)}${COLUMNS.map(([title]) => title.padStart(9)).join("")}`);
}

export function printRun(run) {
  console.log(`${run.name.padEnd(18)}${COLUMNS.map(([, cell]) => cell(run).padStart(9)).join("")}`);
  const details = Object.entries(run.counts).map(([name, count]) => `${count.toLocaleString("en")} ${name}`);
  if (run.name === "idle-sockets") {
    const { before, holding } = run.service;
    const perConnection = (part) => `${(((holding[part] - before[part]) * 1_024) / 5_000).toFixed(1)} KiB`;
    details.push(
      `each costs ${perConnection("rssMb")} of RSS, ${perConnection("heldMb")} of heap and buffers`,
    );
  }
  if (details.length > 0) console.log(`    ${details.join(", ")}`);
}
