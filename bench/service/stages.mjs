// Attributes the processor time of the service's main thread to the stages of a submission, by a CPU profile.
import { Session } from "node:inspector/promises";

/** Matches built files of the service by their folder or name. */
const server = (folders) => new RegExp(`server/dist/(?:${folders})`);

/**
 * The stages of a submission. A sample belongs to the first stage whose `functions` match its function's name, or whose
 * `files` match its file. If none does, it belongs to the stage of its caller.
 */
const STAGES = [
  { stage: "recover", functions: /^(recoverSender|recoverAddress|recover)$/ },
  { stage: "sign", functions: /^(signWrapperTx|signWrapperTxWithKey|signTransaction)$/ },
  { stage: "parse", functions: /^(parseInnerTx|decodeInnerTx|assertInnerTx)$/ },
  { stage: "garbage collection", functions: /^\(garbage collector\)$/ },
  { stage: "idle", functions: /^\(idle\)$/ },
  { stage: "accept", files: server("intake/|store/accept/") },
  { stage: "results and metrics", files: server("results/|model/metrics\\.js") },
  { stage: "results and metrics", files: /prom-client/ },
  { stage: "settle", files: server("lane/(?:watch|reconcile|sweep)\\.js") },
  { stage: "send", files: server("chain/|lane/broadcast") },
  { stage: "send", files: /deps\/undici|node:internal\/fetch/ },
  { stage: "plan", files: server("lane/|store/lanes/laneSnapshot\\.js") },
  { stage: "store", files: server("store/") },
  { stage: "store", files: /\/node_modules\/pg/ },
  { stage: "http", files: server("http/") },
  {
    stage: "http",
    files:
      /\/node_modules\/(fastify|@fastify|find-my-way|avvio|fast-|secure-json|light-my)|node:_http|node:internal\/http/,
  },
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

/** @returns the busy ms of each stage, and of the 60 most expensive functions by themselves; `cpuMs` is of all threads. */
export async function stopProfile() {
  const { user, system } = process.cpuUsage(before);
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const { stages, functions } = summarize(profile);
  return { cpuMs: (user + system) / 1_000, stages, functions };
}

function summarize({ nodes, samples, timeDeltas }) {
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
  // Everything that a recovery or a signature calls belongs to it.
  if (["recover", "sign"].includes(inherited)) return inherited;
  const own = STAGES.find(({ functions, files }) => functions?.test(functionName) || files?.test(url));
  return own?.stage ?? inherited;
}
