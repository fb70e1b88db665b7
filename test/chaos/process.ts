import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");
const GAS_WAIVER = join(ROOT, "packages", "cli", "bin", "gas-waiver.mjs");
/** Of what it wrote, kept for the evidence. */
const KEPT_CHARACTERS = 200_000;

const running = new Set<ChildProcess>();
// Whatever ends the run ends what it started.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A `gas-waiver` command in a process of its own. */
export class Process {
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  #output = "";
  #isOver = false;
  #listeners: (() => void)[] = [];

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { PATH = "" } = process.env;
    this.#child = spawn(process.execPath, [GAS_WAIVER, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH, ...env },
    });
    running.add(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_CHARACTERS);
        this.#tell();
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (status, signal) => {
        this.#isOver = true;
        running.delete(this.#child);
        this.#tell();
        resolve(signal ?? `status ${status}`);
      });
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The end of what it wrote. */
  get output(): string {
    return this.#output;
  }

  /** The URL of the line that says it is ready; undefined if it ends instead. */
  async ready(): Promise<string | undefined> {
    for (;;) {
      const url = /^ready.*?(http:\/\/\S+)/m.exec(this.#output)?.[1];
      if (url !== undefined || this.#isOver) return this.#isOver ? undefined : url;
      await new Promise<void>((resolve) => {
        this.#listeners.push(resolve);
      });
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  #tell(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
