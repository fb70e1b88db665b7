import { readFileSync } from "node:fs";

/** The unit of the times in /proc on Linux, whatever the rate of the kernel's timer is. */
const TICK_MS = 10;

/** The CPU time of a process in ms; undefined where the system does not provide it. */
export function cpuMsOf(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // Counted from behind the name in parentheses, utime and stime are the fields with index 11 and 12.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
