/** Characters of output that a program keeps: the last ones, because some programs run for hours. */
const MAX_OUTPUT = 200_000;

/** How a program has ended. */
export interface Ending {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that a test started, by its output and its end. */
export abstract class RunningProgram {
  /** The programs that have not ended. */
  static readonly running = new Set<RunningProgram>();

  stdout = "";
  stderr = "";
  /** Standard output and standard error together, in their order. */
  output = "";
  readonly ended: Promise<Ending>;
  #setEnded: (ending: Ending) => void = () => {};
  #listeners: (() => void)[] = [];
  #ending: Ending | undefined;

  constructor() {
    RunningProgram.running.add(this);
    this.ended = new Promise((resolve) => {
      this.#setEnded = resolve;
    });
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  abstract signal(name: NodeJS.Signals): void;

  /** Ends the program in the surest way that it has. */
  abstract abandon(): Promise<Ending>;

  async end(name: NodeJS.Signals = "SIGTERM"): Promise<Ending> {
    this.signal(name);
    return await this.ended;
  }

  /** Waits for the end. @returns the status, and the output as text. */
  async result(): Promise<{ readonly status: number | null; readonly out: string; readonly err: string }> {
    const { status } = await this.ended;
    return { status, out: this.stdout, err: this.stderr };
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

  protected collect(stream: "stdout" | "stderr", text: string): void {
    this[stream] = (this[stream] + text).slice(-MAX_OUTPUT);
    this.output = (this.output + text).slice(-MAX_OUTPUT);
    this.#notify();
  }

  /** The first call counts. */
  protected setEnding(ending: Ending): void {
    if (this.hasEnded) return;
    this.#ending = ending;
    RunningProgram.running.delete(this);
    this.#setEnded(ending);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
