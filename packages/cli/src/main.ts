import { listenForSignals } from "./interruption.js";
import { takeEnvironment } from "./processSecrets.js";
import { run } from "./run.js";
import { promptSecret } from "./secretPrompt.js";

/**
 * Runs a command and ends the process with its status. Only `settings/secretFile.ts` uses `process` besides, for its user.
 * It imports little before it listens for signals, so that a signal early in the start-up is heard.
 */
export async function main(argv: readonly string[]): Promise<never> {
  const exit = (status: number) => process.exit(status);
  const signal = listenForSignals(process, exit);
  let needsReader = false;
  // The reader of standard output has closed the pipe: end, as after a signal. An export is then not complete.
  process.stdout.on("error", () => exit(needsReader ? 1 : 0));
  const status = await run(argv, {
    env: takeEnvironment(process.env),
    print: (line) => process.stdout.write(`${line}\n`),
    write: (text) => {
      needsReader = true;
      return new Promise((resolve) => process.stdout.write(text, () => resolve()));
    },
    ...(process.stderr.isTTY && { progress: (line) => process.stderr.write(`\r\x1b[K${line}`) }),
    ...(process.stdin.isTTY &&
      process.stderr.isTTY && {
        promptSecret: (question) =>
          promptSecret(question, { input: process.stdin, write: (text) => process.stderr.write(text) }),
      }),
    printError: (line) => process.stderr.write(`${line}\n`),
    signal,
    onHangup: (listener) => process.on("SIGHUP", listener),
  });
  return process.exit(status);
}
