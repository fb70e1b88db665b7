import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const pathOf = (program) => fileURLToPath(new URL(program, import.meta.url));

/** Runs a program of this folder to its end. @returns the JSON that it printed. */
export async function runToEnd(program, args, { signal, node = [] }) {
  const child = spawn(process.execPath, [...node, pathOf(program), ...args], {
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
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with status ${status}`);
  return JSON.parse(text);
}

/** A devnet in a process of its own. */
export async function startNode() {
  const child = spawn(process.execPath, [pathOf("node.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const url = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(text.trim()));
    child.once("close", (status) => reject(new Error(`the devnet ended with status ${status}`)));
  });
  return {
    url,
    pid: child.pid,
    async close() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
