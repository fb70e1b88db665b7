import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The package, built: a program of its own runs on what is published. */
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs a module's text in a process of its own, where it can be killed; resolves with its first line of output.
 * `input` is there as the global `input`.
 */
export async function runProgram(
  text: string,
  input: unknown,
): Promise<{ readonly line: string; signal(name: NodeJS.Signals): void; kill(): Promise<void> }> {
  const program = `const input = ${JSON.stringify(input)};\n${text}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: PACKAGE,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { line: await firstLine(child, ended), signal: (name) => void child.kill(name), kill };
}

async function firstLine(child: ChildProcess, ended: Promise<unknown>): Promise<string> {
  let out = "";
  let problems = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    problems += text;
  });
  return await new Promise((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.includes("\n")) resolve(out.slice(0, out.indexOf("\n")));
    });
    ended.then(() => reject(new Error(`the program ended without a line: ${problems}`)), reject);
  });
}
