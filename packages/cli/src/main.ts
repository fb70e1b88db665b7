import type { Terminal } from "./command.js";
import { STATUS } from "./exitStatus.js";
import { type Hangups, keepHangups, listenForSignals } from "./interruption.js";
import { printable } from "./output/printable.js";
import { takeEnvironment } from "./processSecrets.js";
import { run } from "./run.js";
import type { Environment } from "./settings/readSettings.js";

/**
 * Runs a command and ends the process with its status. Only `settings/secretFile.ts` uses `process` besides, for its user.
 * It imports little before it listens for signals, so that a signal early in the start-up is heard.
 */
export async function main(argv: readonly string[], hangups: Hangups = keepHangups(process)): Promise<never> {
  const exit = (status: number) => process.exit(status);
  let overdueStatus: number = STATUS.failed;
  let delayMs = 0;
  const signal = listenForSignals(process, exit, () => ({ overdueStatus, delayMs }));
  let needsReader = false;
  let isService = false;
  // The reader of standard output has closed the pipe: end, as after a signal. An export is then not complete. A service goes on.
  process.stdout.on("error", () => isService || exit(needsReader ? STATUS.failed : STATUS.ok));
  process.stderr.on("error", () => {});
  const env = takeEnvironment(process.env);
  const status = await run(argv, {
    env,
    onCommand: (command) => {
      hangups.release();
      isService = command.isService === true;
      if (isService) overdueStatus = STATUS.ok;
    },
    delayShutdown: (ms) => {
      delayMs = ms;
    },
    terminal: terminalOf(process.stdout, env),
    print: (line) => process.stdout.write(`${printable(line)}\n`),
    write: (text) => {
      needsReader = true;
      return new Promise((resolve) => process.stdout.write(text, () => resolve()));
    },
    ...(process.stderr.isTTY && { progress: (line) => process.stderr.write(`\r\x1b[K${printable(line)}`) }),
    ...(process.stdin.isTTY &&
      process.stderr.isTTY && {
        promptSecret: async (question) =>
          (await import("./secretPrompt.js")).promptSecret(question, {
            input: process.stdin,
            write: (text) => process.stderr.write(text),
          }),
      }),
    printError: (line) => process.stderr.write(`${printable(line)}\n`),
    signal,
    onHangup: hangups.listen,
  });
  return process.exit(status);
}

/** @returns undefined for a pipe or a file. */
function terminalOf(
  { isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns">,
  { NO_COLOR, TERM }: Environment,
): Terminal | undefined {
  if (!isTTY) return undefined;
  // An empty NO_COLOR counts as none: no-color.org.
  return { columns: columns || 80, hasColors: !NO_COLOR && TERM !== "dumb" };
}
