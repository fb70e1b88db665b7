import { type ChildProcess, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ending, RunningProgram } from "./runningProgram.js";

export const root = join(import.meta.dirname, "..", "..");
export const GAS_WAIVER = join(root, "packages", "cli", "bin", "gas-waiver.mjs");

export interface ChildOptions {
  /** The child's environment, besides PATH and TMPDIR. */
  readonly env?: Readonly<Record<string, string>>;
  /** The repository's root by default. */
  readonly cwd?: string;
  /** The program to run; Node by default. */
  readonly command?: string;
}

/** A program in a process of its own. It works outside of vitest, and ends with this process at the latest. */
export class ChildProgram extends RunningProgram {
  readonly #child: ChildProcess;

  /** @param args for Node: a script and its arguments; or the arguments of another command. */
  constructor(args: readonly string[], { env = {}, cwd = root, command }: ChildOptions = {}) {
    super();
    const { PATH = "", TMPDIR = tmpdir() } = process.env;
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    this.#child = spawn(command ?? process.execPath, args, { cwd, stdio, env: { PATH, TMPDIR, ...env } });
    for (const stream of ["stdout", "stderr"] as const) {
      this.#child[stream]?.setEncoding("utf8").on("data", (text: string) => this.collect(stream, text));
    }
    this.#child.once("close", (status, signal) => this.setEnding({ status, signal }));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  abandon(): Promise<Ending> {
    return this.end("SIGKILL");
  }
}

process.on("exit", () => {
  for (const program of RunningProgram.running) void program.abandon();
});
