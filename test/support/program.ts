import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll } from "vitest";

export const root = join(import.meta.dirname, "..", "..");
const GAS_WAIVER = join(root, "packages", "cli", "bin", "gas-waiver.mjs");

export interface Ending {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

const running = new Set<Program>();
// Whatever a test has left running ends with its file.
afterAll(async () => {
  await Promise.all([...running].map((program) => program.end("SIGKILL")));
});

/** A program that a test runs, as a person would: by its arguments, output and signals. */
export class Program {
  stdout = "";
  stderr = "";
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #ending: Ending | undefined;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { PATH = "" } = process.env;
    this.#child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH, ...env },
    });
    running.add(this);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#tell();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (status, signal) => {
        this.#ending = { status, signal };
        running.delete(this);
        resolve(this.#ending);
        this.#tell();
      });
    });
  }

  /** `gas-waiver` with these arguments. */
  static gasWaiver(args: readonly string[], env?: Readonly<Record<string, string>>): Program {
    return new Program([GAS_WAIVER, ...args], env);
  }

  /** The first whole line of its output that matches. Rejects if the program ends without one. */
  async line(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const lines = this.stdout.slice(0, this.stdout.lastIndexOf("\n") + 1).split("\n");
      for (const line of lines) {
        const match = line.match(pattern);
        if (match) return match;
      }
      if (this.#ending) throw new Error(`ended without a line ${pattern}:\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#listeners.add(resolve);
      });
    }
  }

  /** The addresses of the line that says it is ready: the service's, then the chain's if it has one. */
  async ready(): Promise<{ readonly url: string; readonly rpcUrl: string }> {
    const [line] = await this.line(/^ready.*/);
    const [url = "", rpcUrl = ""] = line.match(/http:\/\/\S+/g) ?? [];
    return { url, rpcUrl };
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async end(name: NodeJS.Signals = "SIGTERM"): Promise<Ending> {
    this.signal(name);
    return await this.ended;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

/** The command lines of all processes that mention the text. */
export function processesWith(text: string): string[] {
  return execFileSync("ps", ["-A", "-ww", "-o", "pid=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(text));
}
