import { spawn } from "node:child_process";

/** How long a program has to end by itself once it is told to, in ms. */
const GRACE_MS = 2000;

/**
 * Runs a program to its end; `name` is what errors call it. It leads a process group of its own, so that an abort reaches whatever it started.
 * @param {string} name
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, signal: AbortSignal }} options
 * @returns {Promise<void>} rejects if the program fails, and with the signal's reason if it was aborted.
 */
export async function runProgram(name, command, args, { cwd, signal }) {
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const kill = (signalName) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signalName);
    } catch {
      // The group is gone already.
    }
  };
  let last;
  const abort = () => {
    kill("SIGTERM");
    last = setTimeout(kill, GRACE_MS, "SIGKILL");
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    await new Promise((resolve, reject) => {
      child.once("error", (cause) => reject(new Error(`${name} cannot be run: ${cause.message}`)));
      child.once("close", (code, signalName) => {
        if (code === 0) resolve();
        else reject(new Error(`${name} ended with ${signalName ?? `status ${code}`}`));
      });
    });
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(last);
    // Whatever the program has left behind is in its group.
    if (signal.aborted) kill("SIGKILL");
    signal.throwIfAborted();
  }
}
