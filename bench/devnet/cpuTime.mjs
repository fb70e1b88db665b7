import { readFileSync } from "node:fs";

/** Of a clock tick on Linux, which is what its figures are in whatever the kernel's own rate is. */
const TICK_MS = 10;

/** What a process has used of the processors so far, in ms; undefined where the system does not say. */
export function cpuMsOf(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // Behind the name in brackets: state is the first, utime and stime are the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
