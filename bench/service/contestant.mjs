// The side of a contestant's process that the benchmark talks to.
import { readdirSync, readFileSync } from "node:fs";

/**
 * Tells where this process serves, then answers what the benchmark asks: `usage`, `end`, and what `answers` holds.
 * @param {{ url: string, close(): Promise<void>, answers?: Record<string, (options: object) => unknown> }} contestant
 */
export function present({ url, close, answers = {} }) {
  const all = {
    /** Resolves when nothing of earlier work is left to be done. */
    settled: () => ({}),
    usage: () => ({
      rssMb: process.memoryUsage.rss() / 2 ** 20,
      cpuMs: cpuMs(),
      childrenCpuMs: childrenCpuMs(),
    }),
    async end() {
      await close();
      setImmediate(() => process.disconnect());
      return {};
    },
    ...answers,
  };
  process.on("message", async ({ ask, ...options }) => process.send({ answer: await all[ask](options) }));
  process.send({ url });
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Of the processes below this one (a database), where the system tells; ticks are hundredths of a second. */
function childrenCpuMs() {
  let processes;
  try {
    processes = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap(statOf);
  } catch {
    return undefined;
  }
  const below = new Set([process.pid]);
  let ticks = 0;
  for (let found = true; found; ) {
    found = false;
    for (const { pid, parent, used } of processes) {
      if (below.has(pid) || !below.has(parent)) continue;
      below.add(pid);
      ticks += used;
      found = true;
    }
  }
  return ticks * 10;
}

function statOf(name) {
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // Those that have ended count at their parent.
    const used = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return [{ pid: Number(name), parent: Number(fields[1]), used }];
  } catch {
    return [];
  }
}
