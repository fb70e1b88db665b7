import { join } from "node:path";
import { ChildProgram, GAS_WAIVER, root } from "../support/childProgram.js";

const CLOCK = join(root, "test", "night", "jumpingClock.mjs");
/** A port that nobody listens on: where a replica is that does not run. */
const NOWHERE = "https://127.0.0.1:1";

/** A program whose lines of standard error are told as they come. */
class ToldProgram extends ChildProgram {
  onLine: (line: string) => void = () => {};
  #rest = "";

  protected override collect(stream: "stdout" | "stderr", text: string): void {
    super.collect(stream, text);
    if (stream === "stdout") return;
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.onLine(line);
  }
}

/** A `gas-waiver serve` of the run. */
export class NightReplica {
  readonly name: string;
  /** Called with each line of its log. */
  onLine: (line: string) => void = () => {};
  url = NOWHERE;
  metricsUrl = NOWHERE;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #program: ToldProgram | undefined;

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.name = name;
    this.#args = args;
    this.#env = env;
  }

  /** Starts it. Resolves when it is ready; rejects with its output if it ends before. */
  async start(): Promise<void> {
    const args = ["--import", CLOCK, GAS_WAIVER, "serve", "--json", ...this.#args];
    const program = new ToldProgram(args, { env: this.#env });
    program.onLine = (line) => this.onLine(line);
    this.#program = program;
    const [line] = await program.line(/^\{"ready":true.*/);
    ({ url: this.url, metricsUrl: this.metricsUrl } = JSON.parse(line));
  }

  signal(name: NodeJS.Signals): void {
    this.#program?.signal(name);
  }

  /** Ends it with SIGKILL. */
  async kill(): Promise<void> {
    await this.#program?.end("SIGKILL");
    this.url = NOWHERE;
    this.metricsUrl = NOWHERE;
  }

  get hasEnded(): boolean {
    return this.#program?.hasEnded ?? true;
  }

  /** The end of its output. */
  get output(): string {
    return this.#program?.output.slice(-3_000) ?? "";
  }
}
