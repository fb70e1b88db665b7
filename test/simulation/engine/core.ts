import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

let ownCore: number | undefined;
const moved = new Set<number>();

/**
 * Keeps this process on one core, and with {@link joinCore} PostgreSQL's processes that serve it. They work by turns: each turn that wakes
 * another core costs more than most statements, a fifth of a world's processor time in all. Only Linux lets a process do so.
 * @param place of this process among those that share the cores which the program may use.
 */
export function keepToCore(place: number): void {
  const cores = allowedCores();
  ownCore = cores[place % cores.length];
  joinCore(process.pid);
}

/** Moves a process with all its threads to this one's core. Where that fails, it works as well, and slower. */
export function joinCore(pid: number): void {
  if (ownCore === undefined || moved.has(pid)) return;
  moved.add(pid);
  spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", String(ownCore), String(pid)], {
    stdio: "ignore",
  });
}

/** The cores that this process may use. Nothing tells them outside of Linux. */
function allowedCores(): number[] {
  try {
    const [, list = ""] =
      readFileSync("/proc/self/status", "utf8").match(/^Cpus_allowed_list:\s*(\S+)/m) ?? [];
    return list.split(",").flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
  } catch {
    return [];
  }
}
