import type { Command, Context } from "./Command.js";
import { sentenceOf } from "./sentence.js";
import { describeSettings } from "./settings/describeSettings.js";
import { UsageError } from "./settings/readSettings.js";
import { VERSION } from "./version.js";

/** A command is loaded only when it is called: they bring the chain and the service with them. */
const COMMANDS = {
  dev: {
    summary: "Start a local chain and the service together, and send one gasless transfer.",
    load: async (): Promise<Command> => (await import("./commands/dev.js")).dev,
  },
  serve: {
    summary: "Start the submission service alone.",
    load: async (): Promise<Command> => (await import("./commands/serve.js")).serve,
  },
} as const;

export interface ProgramContext extends Context {
  readonly printError: (line: string) => void;
}

/** What the process ends with. */
export const STATUS = { ok: 0, failed: 1, usage: 2 } as const;

/** Runs the command that the arguments name. @returns the status to end with; it never throws. */
export async function run(argv: readonly string[], context: ProgramContext): Promise<number> {
  const { print, printError, signal } = context;
  const [name, ...rest] = argv;
  if (name === "--version" || name === "-v") {
    print(VERSION);
    return STATUS.ok;
  }
  if (name === "--help" || name === "-h" || name === "help") {
    print(generalHelp());
    return STATUS.ok;
  }
  if (name === undefined || !isCommand(name)) {
    printError(name === undefined ? "gas-waiver: no command is given" : `gas-waiver: ${name} is no command`);
    printError(`\n${generalHelp()}`);
    return STATUS.usage;
  }
  try {
    const command = await COMMANDS[name].load();
    if (rest.includes("--help") || rest.includes("-h")) {
      print(helpOf(name, command));
      return STATUS.ok;
    }
    await command.run(rest, context);
    return STATUS.ok;
  } catch (error) {
    if (signal.aborted) return STATUS.ok;
    return report(error, name, printError);
  }
}

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

function report(error: unknown, command: string, printError: (line: string) => void): number {
  if (error instanceof UsageError) {
    printError(`gas-waiver ${command} cannot start with these settings:`);
    for (const problem of error.problems) printError(`  - ${problem}`);
    printError(`gas-waiver ${command} --help shows them all.`);
    return STATUS.usage;
  }
  printError(`gas-waiver: ${sentenceOf(error)}`);
  return STATUS.failed;
}

function generalHelp(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`);
  return [
    "Usage: gas-waiver <command> [flags]",
    "",
    "A relay for gas-waived transactions: users sign with gas price 0, a waiver carries them on chain.",
    "",
    "Commands:",
    ...commands,
    "",
    "gas-waiver <command> --help  shows the flags of a command.",
    "gas-waiver --version         shows the version.",
  ].join("\n");
}

function helpOf(name: keyof typeof COMMANDS, { description, settings }: Command): string {
  const { summary } = COMMANDS[name];
  return `Usage: gas-waiver ${name} [flags]\n\n${summary}\n${description}\n\n${describeSettings(settings)}`;
}
