import type { Command, CommandEntry, CommandGroup, Context } from "./command.js";
import { errorMessage, IncompleteError } from "./errorMessage.js";
import { STATUS } from "./exitStatus.js";
import { commandHelp, groupHelp } from "./help.js";
import { PROGRAM } from "./program.js";
import { hintOf } from "./settings/closestWord.js";
import { UsageError } from "./settings/readSettings.js";
import { VERSION } from "./version.js";

export interface ProgramContext extends Context {
  /** Prints a line to standard error. */
  readonly printError: (line: string) => void;
  /** Called with the command that is about to run. */
  readonly onCommand?: (command: Command) => void;
}

const HELP = ["--help", "-h", "help"];

/** Runs the command that the arguments name. It never throws. @returns the exit status of the process. */
export async function run(argv: readonly string[], context: ProgramContext): Promise<number> {
  const [name] = argv;
  if (name === "--version" || name === "-v") {
    context.print(VERSION);
    return STATUS.ok;
  }
  return runGroup(PROGRAM, "", argv, context);
}

async function runGroup(
  group: CommandGroup,
  path: string,
  [name, ...rest]: readonly string[],
  context: ProgramContext,
): Promise<number> {
  const { print, printError } = context;
  const { commands } = group;
  if (name !== undefined && HELP.includes(name)) {
    print(groupHelp(group, path));
    return STATUS.ok;
  }
  const found = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (name === undefined || found === undefined) {
    const problem =
      name === undefined
        ? "no command is given"
        : `${name} is not a command${hintOf(name, Object.keys(commands))}`;
    printError(`gas-waiver${path}: ${problem}`);
    printError(`\n${groupHelp(group, path)}`);
    return STATUS.usage;
  }
  if ("commands" in found) return runGroup(found, `${path} ${name}`, rest, context);
  return runCommand(found, `${path} ${name}`, rest, context);
}

async function runCommand(
  entry: CommandEntry,
  path: string,
  argv: readonly string[],
  context: ProgramContext,
): Promise<number> {
  let command: Command | undefined;
  try {
    command = await entry.load();
    if (argv.includes("--help") || argv.includes("-h")) {
      context.print(commandHelp(path, entry, command));
      return STATUS.ok;
    }
    context.onCommand?.(command);
    await command.run(argv, context);
    return STATUS.ok;
  } catch (error) {
    if (context.signal.aborted && !(error instanceof IncompleteError)) {
      if (command?.isService) return STATUS.ok;
      context.printError("gas-waiver: interrupted");
      return STATUS.failed;
    }
    return printFailure(error, path, context.printError);
  }
}

function printFailure(error: unknown, path: string, printError: (line: string) => void): number {
  if (error instanceof UsageError) {
    printError(`gas-waiver${path} cannot start with these settings:`);
    for (const problem of error.problems) printError(`  - ${problem}`);
    printError(`gas-waiver${path} --help shows them all.`);
    return STATUS.usage;
  }
  printError(`gas-waiver: ${errorMessage(error)}`);
  return STATUS.failed;
}
