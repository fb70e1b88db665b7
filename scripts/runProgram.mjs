import { spawn } from "node:child_process";

/** Time in ms between SIGTERM and SIGKILL after an abort. */
const GRACE_MS = 2000;

/**
 * Runs a program to its end. The program leads a process group of its own, so that an abort also reaches its children.
 * @param {string} name as error messages call the program.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, signal: AbortSignal, stdout?: "inherit" | "ignore" }} options
 * @returns {Promise<void>} rejects if the program fails, and with the signal's reason if it was aborted.
 */
export async function runProgram(name, command, args, { cwd, signal, stdout = "inherit" }) {
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd, stdio: ["ignore", stdout, "inherit"], detached: true });
  const kill = (signalName) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signalName);
    } catch {
      // The process group has ended already.
    }
  };
  let killTimer;
  const abort = () => {
    kill("SIGTERM");
    killTimer = setTimeout(kill, GRACE_MS, "SIGKILL");
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
    clearTimeout(killTimer);
    // Children that outlived the program are still in its group.
    if (signal.aborted) kill("SIGKILL");
    signal.throwIfAborted();
  }
}
