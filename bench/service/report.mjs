import { median } from "../median.mjs";

const NAMES = {
  node: "the node itself",
  bare: "a bare server",
  service: "the service",
  websocket: "the service, over WebSockets",
  gateway: "the service, by its gateway",
  created: "the service, created key",
  finished: "the service, many finished",
  viem: "Fastify + viem",
  ethers: "Fastify + ethers",
};

const medianOf = (runs, read) => median(runs.map((run) => read(run) ?? Number.NaN));

/** Medians by node and contestant. Ratios to the viem relay and to the service are taken within each round. */
export function figuresOf(runs) {
  return Object.fromEntries(
    Object.entries(runs).map(([node, contestants]) => [
      node,
      Object.fromEntries(
        Object.entries(contestants).map(([name, list]) => [name, figuresOfOne(list, contestants)]),
      ),
    ]),
  );
}

function figuresOfOne(list, { viem, service }) {
  const batches = Object.keys(list[0].saturation);
  const byBatch = (read) =>
    Object.fromEntries(batches.map((batch) => [batch, medianOf(list, (run) => read(run.saturation[batch]))]));
  const ratioTo = (reference) =>
    Object.fromEntries(
      batches.map((batch) => [
        batch,
        median(
          list.map(
            (run, i) =>
              run.saturation[batch].perSecond / (reference[i]?.saturation[batch].perSecond ?? Number.NaN),
          ),
        ),
      ]),
    );
  const stages = list[0].saturation[10]?.stages;
  return {
    perSecond: byBatch((phase) => phase.perSecond),
    cpuUs: byBatch((phase) => phase.cpuUs),
    childrenCpuUs: byBatch((phase) => phase.childrenCpuUs),
    rates: Object.fromEntries(
      Object.keys(list[0].rates).map((rate) => [
        rate,
        Object.fromEntries(
          ["achieved", "p50", "p99", "p999", "failed", "cpuUs", "childrenCpuUs"].map((name) => [
            name,
            medianOf(list, (run) => run.rates[rate][name]),
          ]),
        ),
      ]),
    ),
    rssMb: medianOf(list, (run) => run.rssMb),
    ...(list[0].inTurn && { inTurn: inTurnFigures(list) }),
    ...(list[0].saturation[10]?.store && { store: storeFigures(list) }),
    ...(viem && { toViem: ratioTo(viem) }),
    ...(service && { toService: ratioTo(service) }),
    ...(stages && {
      stagesUs: Object.fromEntries(
        Object.keys(stages).map((stage) => [
          stage,
          medianOf(list, (run) => run.saturation[10].stages[stage] ?? 0),
        ]),
      ),
    }),
  };
}

/** The latencies in ms of sends and reads that were made in turn. */
function inTurnFigures(list) {
  return Object.fromEntries(
    Object.keys(list[0].inTurn).map((kind) => [
      kind,
      Object.fromEntries(
        ["p50", "p99"].map((name) => [name, medianOf(list, (run) => run.inTurn[kind][name])]),
      ),
    ]),
  );
}

/** The costs of one submission in the store, by the phase: requests of one size at saturation, or an offered rate. */
function storeFigures(list) {
  const phases = (of, label) =>
    Object.keys(list[0][of]).map((key) => [
      label(key),
      Object.fromEntries(
        Object.keys(list[0][of][key].store).map((cost) => [
          cost,
          medianOf(list, (run) => run[of][key].store[cost]),
        ]),
      ),
    ]);
  return Object.fromEntries([
    ...phases("saturation", (batch) => `requests of ${batch}`),
    ...phases("rates", (rate) => `${rate} a second`),
  ]);
}

export function printReport({ node, cpu, cores, load, ceiling, figures }) {
  print(`\nnode ${node}, ${cores} cores, ${cpu}`);
  print(`${load.rounds} rounds, ${load.seconds} s a phase; medians`);
  printCeiling(ceiling);
  for (const [kind, contestants] of Object.entries(figures)) printNode(kind, contestants, load);
}

function printCeiling(ceiling) {
  const steps = Object.keys(ceiling[0].microseconds).map(
    (name) => `${name} ${medianOf(ceiling, (run) => run.microseconds[name]).toFixed(1)}`,
  );
  print(
    `\n${ceiling[0].backend} cryptography alone, one core: ${whole(medianOf(ceiling, (run) => run.perSecond))} tx/s (µs: ${steps.join(", ")})`,
  );
}

/** The contestants whose rates are compared with those of the service. */
const TO_SERVICE = {
  created: "created key to configured key",
  websocket: "over WebSockets to over POST",
  gateway: "by the gateway to over POST",
};

const TITLES = { accepting: "a node that accepts everything", devnet: "the devnet" };

function printNode(kind, contestants, { saturation, rates }) {
  const entries = Object.entries(contestants);
  const requests = saturation.map(({ batch }) => batch);
  print(`\n== ${TITLES[kind]}`);
  print(
    line(
      "transactions a second, in requests of",
      requests.map((n) => String(n).padStart(9)).join("") +
        "   to viem".padEnd(22) +
        "CPU".padStart(8) +
        "database".padStart(11) +
        "RSS".padStart(9),
    ),
  );
  for (const [name, figures] of entries) {
    const perSecond = requests.map((batch) => whole(figures.perSecond[batch], 9)).join("");
    const ratios = figures.toViem
      ? `   ${requests.map((batch) => figures.toViem[batch].toFixed(1)).join(" / ")}`
      : "";
    print(
      line(
        NAMES[name],
        `${perSecond}${ratios.padEnd(22)}${whole(figures.cpuUs[10], 8)}${whole(figures.childrenCpuUs[10], 11)}${`${whole(figures.rssMb)} MB`.padStart(9)}`,
      ),
    );
  }
  for (const [name, title] of Object.entries(TO_SERVICE)) {
    const toService = contestants[name]?.toService;
    if (toService === undefined) continue;
    const ratios = requests.map((batch) => toService[batch].toFixed(2));
    print(line(title, ratios.map((ratio) => ratio.padStart(9)).join("")));
  }
  print("(to viem: ratio of the rates; CPU and database: µs of CPU a transaction, in requests of 10)");
  printRates(entries, rates);
  printGateway(contestants);
  for (const [name, { store = {} }] of entries) {
    for (const [phase, { walBytes, transactionIds, outcomeBytes }] of Object.entries(store)) {
      const costs = `WAL ${whole(walBytes)} bytes, transaction ids ${transactionIds.toFixed(2)}`;
      print(`${NAMES[name]}, ${phase}: ${costs} a submission; ${whole(outcomeBytes)} bytes an outcome`);
    }
  }
  for (const [name, { stagesUs }] of entries) {
    if (stagesUs === undefined) continue;
    const byTime = Object.entries(stagesUs).sort((a, b) => b[1] - a[1]);
    print(
      `\n${NAMES[name]}, µs of the main thread a transaction (requests of 10): ${byTime.map(([stage, us]) => `${stage} ${us.toFixed(0)}`).join(", ")}`,
    );
  }
}

function printRates(entries, rates) {
  print(
    line(
      "\nms to the result line, at a rate of",
      rates.map((rate) => `${rate}/s: p50   p99 p99.9`.padStart(26)).join(""),
    ),
  );
  for (const [name, { rates: offered }] of entries) {
    const cells = rates.map((rate) =>
      [offered[rate].p50, offered[rate].p99, offered[rate].p999].map(time).join("").padStart(26),
    );
    print(line(NAMES[name], cells.join("")));
  }
  print(
    line("\nµs of CPU a transaction + the database", rates.map((rate) => `${rate}/s`.padStart(15)).join("")),
  );
  for (const [name, { rates: offered }] of entries) {
    const cells = rates.map((rate) =>
      `${whole(offered[rate].cpuUs)} + ${whole(offered[rate].childrenCpuUs)}`.padStart(15),
    );
    print(line(NAMES[name], cells.join("")));
  }
}

const IN_TURN_NAMES = {
  submit: "POST /v1/submit",
  gatewaySend: "eth_sendRawTransaction by the gateway",
  nodeRead: "a read from the node",
  gatewayRead: "the same by the gateway",
  nodeBlock: "the fullest block, from the node",
  gatewayRemembered: "the same, remembered by the gateway",
};

function printGateway({ gateway }) {
  if (gateway === undefined) return;
  print(line("\nms of one call at a time, in turn", "p50    p99".padStart(14)));
  for (const [kind, name] of Object.entries(IN_TURN_NAMES)) {
    const { p50, p99 } = gateway.inTurn[kind];
    print(line(name, [p50, p99].map((ms) => ms.toFixed(2).padStart(7)).join("")));
  }
}

const line = (title, cells) => `${title.padEnd(38)}${cells}`;
const time = (ms) => (Number.isFinite(ms) ? (ms < 100 ? ms.toFixed(1) : whole(ms)) : "–").padStart(7);

function whole(value, width = 0) {
  return (Number.isFinite(value) ? Math.round(value).toLocaleString("en") : "–").padStart(width);
}

function print(text) {
  console.log(text);
}
