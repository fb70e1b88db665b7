// Where the service's processor time goes, by a profile of its main thread.
import { Session } from "node:inspector/promises";

/** The first stage that names the function, or else the file, has the time. What has neither goes to its caller's. */
const STAGES = [
  ["recover", /^(recoverSender|recoverAddress|recover)$/, undefined],
  ["sign", /^(signWrapperTx|signWrapperTxWithKey|signTransaction)$/, undefined],
  ["parse", /^(parseInnerTx|decodeInnerTx|assertInnerTx|examine)$/, undefined],
  ["garbage collection", /^\(garbage collector\)$/, undefined],
  ["idle", /^\(idle\)$/, undefined],
  ["accept", undefined, /server\/dist\/(intake|store\/accept)\.js$/],
  ["lines", undefined, /server\/dist\/(lines|results|notices|metrics)\.js$|prom-client/],
  ["plan", undefined, /server\/dist\/(assign|plan|lane|store\/queue)\.js$/],
  ["settle", undefined, /server\/dist\/(watch|settle|sweep)\.js$/],
  ["send", undefined, /server\/dist\/(rpc|chain|deliver|broadcast)\.js$|deps\/undici|node:internal\/fetch/],
  ["store", undefined, /\/node_modules\/pg|server\/dist\/store\//],
  [
    "http",
    undefined,
    /\/node_modules\/(fastify|@fastify|find-my-way|avvio|fast-|secure-json|light-my)|server\/dist\/http\/|node:_http|node:internal\/http/,
  ],
];

const session = new Session();
let before;

export async function startProfile() {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 500 });
  await session.post("Profiler.start");
  before = process.cpuUsage();
  return {};
}

/** @returns the busy milliseconds by stage and the functions that cost most by themselves; `cpuMs` is of all threads. */
export async function stopProfile() {
  const { user, system } = process.cpuUsage(before);
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const { stages, functions } = sumUp(profile);
  return { cpuMs: (user + system) / 1_000, stages, functions };
}

function sumUp({ nodes, samples, timeDeltas }) {
  const selfMs = new Map();
  for (const [i, id] of samples.entries()) selfMs.set(id, (selfMs.get(id) ?? 0) + timeDeltas[i] / 1_000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stages = {};
  const functions = new Map();
  const visit = (id, inherited) => {
    const node = byId.get(id);
    const stage = stageOf(node.callFrame, inherited);
    const ms = selfMs.get(id) ?? 0;
    if (ms > 0) {
      stages[stage] = (stages[stage] ?? 0) + ms;
      const { functionName, url, lineNumber } = node.callFrame;
      const name = `${functionName || "(anonymous)"} ${url.split("/").slice(-3).join("/")}:${lineNumber + 1}`;
      functions.set(name, (functions.get(name) ?? 0) + ms);
    }
    for (const child of node.children ?? []) visit(child, stage);
  };
  visit(nodes[0].id, "other");
  delete stages.idle;
  const most = [...functions].filter(([name]) => !name.startsWith("(idle)")).sort((a, b) => b[1] - a[1]);
  return { stages, functions: Object.fromEntries(most.slice(0, 60)) };
}

function stageOf({ functionName, url }, inherited) {
  // What recovers, signs or parses stays that, whatever it calls.
  if (["recover", "sign"].includes(inherited)) return inherited;
  for (const [stage, name, file] of STAGES) {
    if (name?.test(functionName) && inherited !== "sign") return stage;
    if (file?.test(url)) return stage;
  }
  return inherited;
}
