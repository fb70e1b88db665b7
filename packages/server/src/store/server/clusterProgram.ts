import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Command } from "./unprivilegedUser.js";

const run = promisify(execFile);

/** The environment of PostgreSQL's programs, whose messages are read here. */
export const PROGRAM_ENVIRONMENT = { LC_ALL: "C" };

export interface ProgramInput {
  /** Lines for the standard input. */
  readonly input?: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs one of PostgreSQL's programs to its end.
 * @throws an error with PostgreSQL's own message, or the signal's reason.
 */
export async function runClusterProgram(
  command: Command,
  { input = "", signal }: ProgramInput,
): Promise<void> {
  const options = { ...command.options, env: PROGRAM_ENVIRONMENT, ...(signal && { signal }) };
  const running = run(command.file, command.args, options);
  // A program that fails early reads no input.
  running.child.stdin?.on("error", () => {}).end(input);
  try {
    await running;
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr, message } = error as { stderr?: string; message: string };
    const lines = (stderr || message).trim().split("\n");
    const cause = lines.find((line) => /\b(ERROR|FATAL|PANIC):/.test(line)) ?? lines.at(-1);
    throw new Error(cause, { cause: error });
  }
}
