import { listenForSignals } from "./interruption.js";
import { run } from "./run.js";

/**
 * The program: runs a command and ends the process with its status. Nothing else here touches the process.
 * It loads little before it listens for signals, so that one early in the start-up is heard.
 */
export async function main(argv: readonly string[]): Promise<never> {
  const exit = (status: number) => process.exit(status);
  const signal = listenForSignals(process, exit);
  // Whoever read our output has gone: nobody is left to serve for, as after a signal.
  process.stdout.on("error", () => exit(0));
  const status = await run(argv, {
    env: process.env,
    print: (line) => process.stdout.write(`${line}\n`),
    printError: (line) => process.stderr.write(`${line}\n`),
    signal,
    onHangup: (listener) => process.on("SIGHUP", listener),
  });
  return process.exit(status);
}
