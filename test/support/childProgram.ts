import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..", "..");
export const GAS_WAIVER = join(root, "packages", "cli", "bin", "gas-waiver.mjs");

/** Characters of output that a program keeps: the last ones, because some programs run for hours. */
const MAX_OUTPUT = 200_000;

/** How a program has ended. */
export interface Ending {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** The child's environment, besides PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** The repository's root by default. */
  readonly cwd?: string;
  /** The program to run; Node by default. */
  readonly command?: string;
}

/** A program in a process of its own. It works outside of vitest, and ends with this process at the latest. */
export class ChildProgram {
  /** The programs that have not ended. */
  static readonly running = new Set<ChildProgram>();

  stdout = "";
  stderr = "";
  /** Standard output and standard error together, in their order. */
  output = "";
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  #listeners: (() => void)[] = [];
  #ending: Ending | undefined;

  /** @param args for Node: a script and its arguments; or the arguments of another command. */
  constructor(args: readonly string[], { env = {}, cwd = root, command }: ChildOptions = {}) {
    const { PATH = "" } = process.env;
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    this.#child = spawn(command ?? process.execPath, args, { cwd, stdio, env: { PATH, ...env } });
    ChildProgram.running.add(this);
    this.#collect("stdout");
    this.#collect("stderr");
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (status, signal) => {
        this.#ending = { status, signal };
        ChildProgram.running.delete(this);
        resolve(this.#ending);
        this.#notify();
      });
    });
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** The first whole line of standard output that matches. Rejects if the program ends without one. */
  async line(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const lines = this.stdout.slice(0, this.stdout.lastIndexOf("\n") + 1).split("\n");
      for (const line of lines) {
        const match = line.match(pattern);
        if (match) return match;
      }
      if (this.#ending) throw new Error(`ended without a line ${pattern}:\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#listeners.push(resolve);
      });
    }
  }

  /** The URLs of the line that says the program is ready: its own, then that of the chain that it has started, if any. */
  async ready(): Promise<{ readonly url: string; readonly rpcUrl: string }> {
    const [line] = await this.line(/^ready.*/);
    const [url = "", rpcUrl = ""] = line.match(/https?:\/\/\S+/g) ?? [];
    return { url, rpcUrl };
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async end(name: NodeJS.Signals = "SIGTERM"): Promise<Ending> {
    this.signal(name);
    return await this.ended;
  }

  #collect(stream: "stdout" | "stderr"): void {
    this.#child[stream]?.setEncoding("utf8").on("data", (text: string) => {
      this[stream] = (this[stream] + text).slice(-MAX_OUTPUT);
      this.output = (this.output + text).slice(-MAX_OUTPUT);
      this.#notify();
    });
  }

  #notify(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

process.on("exit", () => {
  for (const program of ChildProgram.running) program.signal("SIGKILL");
});
