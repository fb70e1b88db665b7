import { EventEmitter } from "node:events";
import { STATUS } from "../../packages/cli/src/exitStatus.js";
import { listenForSignals } from "../../packages/cli/src/interruption.js";
import { run } from "../../packages/cli/src/run.js";
import { type Ending, RunningProgram } from "./runningProgram.js";

export interface CommandLineOptions {
  /** The variables of its environment; none by default. */
  readonly env?: Readonly<Record<string, string>>;
  /** The width of the terminal that shows its output; none by default. */
  readonly columns?: number;
}

/**
 * `gas-waiver` with its arguments, in the process of the test: it starts at once, and costs what it does. It hears
 * SIGINT, SIGTERM and SIGHUP as a process would. A test of the process itself starts a {@link Program}.
 */
export class CommandLine extends RunningProgram {
  readonly #signals = new EventEmitter();

  constructor(args: readonly string[], { env = {}, columns }: CommandLineOptions = {}) {
    super();
    let overdueStatus: number = STATUS.failed;
    let delayMs = 0;
    const exit = (status: number) => this.setEnding({ status, signal: null });
    const signal = listenForSignals(this.#signals, exit, () => ({ overdueStatus, delayMs }));
    const ended = run(args, {
      env,
      signal,
      onCommand: ({ isService }) => {
        if (isService) overdueStatus = STATUS.ok;
      },
      delayShutdown: (ms) => {
        delayMs = ms;
      },
      print: (line) => this.collect("stdout", `${line}\n`),
      write: async (text) => this.collect("stdout", text),
      printError: (line) => this.collect("stderr", `${line}\n`),
      onHangup: (listener) => this.#signals.on("SIGHUP", listener),
      ...(columns !== undefined && { terminal: { columns, hasColors: false } }),
    });
    void ended.then(exit);
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#signals.emit(name)) throw new Error(`gas-waiver does not listen for ${name}`);
  }

  abandon(): Promise<Ending> {
    return this.end("SIGTERM");
  }
}

/** Starts `gas-waiver` in this process. */
export function gasWaiver(args: readonly string[], env?: Readonly<Record<string, string>>): CommandLine {
  return new CommandLine(args, { ...(env && { env }) });
}
