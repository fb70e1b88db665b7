// A benchmark runs its programs in processes of their own: contestants, which it measures, nodes and load generators.
// This is a program's side of the messages.
import { readdirSync, readFileSync } from "node:fs";

/**
 * Sends the benchmark the URL that this process serves or calls, then answers its requests: `settled`, `usage`, `end`, and
 * those of `answers`.
 * @param {{ url: string, close(): Promise<void>, answers?: Record<string, (options: object) => unknown> }} contestant
 */
export function answerBenchmark({ url, close, answers = {} }) {
  const handlers = {
    /** Answered when all earlier work is finished: at once, unless `answers` has one that waits for it. */
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
  process.on("message", async ({ ask, ...options }) =>
    process.send({ answer: await handlers[ask](options) }),
  );
  process.send({ url });
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Processor time in ms of all descendants of this process (the database's), from /proc on Linux, where a tick is
 * 10 ms; undefined on other systems.
 */
function childrenCpuMs() {
  let processes;
  try {
    processes = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap(statOf);
  } catch {
    return undefined;
  }
  const descendants = new Set([process.pid]);
  let ticks = 0;
  for (let grew = true; grew; ) {
    grew = false;
    for (const { pid, parent, used } of processes) {
      if (descendants.has(pid) || !descendants.has(parent)) continue;
      descendants.add(pid);
      ticks += used;
      grew = true;
    }
  }
  return ticks * 10;
}

function statOf(name) {
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // Fields 14 to 17: the process's own user and system time, and those of its children that have ended.
    const used = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return [{ pid: Number(name), parent: Number(fields[1]), used }];
  } catch {
    return [];
  }
}
