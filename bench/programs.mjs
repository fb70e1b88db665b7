import { spawn } from "node:child_process";
import { constants, getPriority, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

/**
 * Runs a program to its end.
 * @param {URL} program
 * @returns the JSON from its standard output.
 */
export async function runToEnd(program, args, { signal, node = [] }) {
  const path = fileURLToPath(program);
  const child = spawn(process.execPath, [...node, path, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    signal,
    killSignal: "SIGKILL",
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  const status = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`${path} ${args.join(" ")} ended with status ${status}`);
  return JSON.parse(text);
}

/**
 * Calls `run` with a `startProgram` that knows the signal, then closes what it started, the last program first.
 * @template T
 * @param {(start: (program: URL, args: string[], options?: object) => Promise<any>) => Promise<T>} run
 */
export async function withPrograms({ signal }, run) {
  const programs = [];
  const start = async (program, args, options = {}) => {
    const started = await startProgram(program, args, { signal, ...options });
    programs.unshift(started);
    return started;
  };
  try {
    return await run(start);
  } finally {
    for (const program of programs) await program.close();
  }
}

/**
 * Starts a program that calls `answerBenchmark` (`bench/service/contestant.mjs`): it sends `{ url }` first, and then answers
 * requests. Wait for each answer before the next request.
 * @param {URL} program
 * @param {{ signal: AbortSignal, node?: string[], isLow?: boolean, onError?: (text: string) => void }} options `node` has
 * arguments for Node itself; with `isLow`, the program has the processor time that the others leave; `onError` receives the
 * program's standard error.
 */
export async function startProgram(program, args, { signal, node = [], isLow = false, onError }) {
  const path = fileURLToPath(program);
  const child = spawn(process.execPath, [...node, path, ...args], {
    stdio: ["ignore", "inherit", onError ? "pipe" : "inherit", "ipc"],
  });
  const { PRIORITY_LOW } = constants.priority;
  if (isLow) setPriority(child.pid, Math.min(PRIORITY_LOW, getPriority() + PRIORITY_LOW));
  child.stderr?.setEncoding("utf8").on("data", onError);
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = () => child.kill("SIGKILL");
  signal.addEventListener("abort", stop);
  ended.then(() => signal.removeEventListener("abort", stop));
  const nextMessage = () =>
    new Promise((resolve, reject) => {
      const onEarlyEnd = (status) => reject(new Error(`${path} ended with status ${status}`));
      child.once("close", onEarlyEnd);
      child.once("message", (message) => {
        child.off("close", onEarlyEnd);
        resolve(message);
      });
    });
  const { url } = await nextMessage();
  return {
    url,
    async ask(request, options = {}) {
      const answer = nextMessage();
      child.send({ ask: request, ...options });
      return (await answer).answer;
    },
    async close() {
      const limit = setTimeout(stop, 15_000);
      if (child.connected) child.send({ ask: "end" });
      await ended;
      clearTimeout(limit);
    },
  };
}
