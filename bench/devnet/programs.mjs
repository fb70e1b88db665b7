import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runToEnd as runProgramToEnd } from "../programs.mjs";

const pathOf = (program) => fileURLToPath(new URL(program, import.meta.url));

/** Runs a program of this folder. @returns the JSON that it printed. */
export function runToEnd(program, args, options) {
  return runProgramToEnd(new URL(program, import.meta.url), args, options);
}

/** Starts a devnet in a child process. */
export async function startNode() {
  const child = spawn(process.execPath, [pathOf("node.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(text.trim()));
    child.once("close", (status) => reject(new Error(`the devnet ended with status ${status}`)));
  });
  return childNode(child, url);
}

/**
 * A node in a child process: its address, the process id, and a function that kills the process and waits for the end.
 */
export function childNode(child, url) {
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    url,
    pid: child.pid,
    async close() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
