import type { Command, Context } from "./command.js";
import { errorMessage } from "./errorMessage.js";
import { UsageError } from "./settings/readSettings.js";
import { settingsHelp } from "./settings/settingsHelp.js";
import { VERSION } from "./version.js";

export interface Entry {
  readonly summary: string;
  /** A command is loaded only when it is called: they bring the chain and the service with them. */
  load(): Promise<Command>;
}

/** Commands under a common first word. */
export interface Group {
  readonly summary: string;
  /** What its help begins with. */
  readonly introduction: string;
  readonly commands: Readonly<Record<string, Entry | Group>>;
}

const GOVERNANCE: Group = {
  summary: "Propose, vote on and read who may send gas-waived transactions, on any chain.",
  introduction:
    "Who may send gas-waived transactions, and what: the registry of a chain, and the votes of its validators.",
  commands: {
    list: {
      summary: "Show the waivers with their targets, the validators, and the open proposals.",
      load: async () => (await import("./commands/governanceRead.js")).list,
    },
    show: {
      summary: "Show one proposal: what it asks for, its votes, what is missing, when it expires.",
      load: async () => (await import("./commands/governanceRead.js")).show,
    },
    propose: {
      summary: "Propose to register, update or revoke a waiver, or to add or remove a validator.",
      load: async () => (await import("./commands/governanceAct.js")).propose,
    },
    vote: {
      summary: "Vote on a proposal.",
      load: async () => (await import("./commands/governanceAct.js")).vote,
    },
  },
};

const LANES: Group = {
  summary: "See and steer the lanes of a service: one for each waiver key.",
  introduction: "The lanes of a service, one for each waiver key: what they do, and what they may do.",
  commands: {
    list: {
      summary: "Show the lanes: their state, who works them, how much they have to do.",
      load: async () => (await import("./commands/lanes.js")).list,
    },
    doctor: {
      summary: "Hold the lanes' unfinished submissions against the chain.",
      load: async () => (await import("./commands/lanes.js")).doctor,
    },
    drain: {
      summary: "Let a lane finish what it has, and retire it.",
      load: async () => (await import("./commands/lanes.js")).drain,
    },
    stop: {
      summary: "Stop a lane at once.",
      load: async () => (await import("./commands/lanes.js")).stop,
    },
    open: {
      summary: "Let a lane take work again.",
      load: async () => (await import("./commands/lanes.js")).open,
    },
  },
};

const KEYS: Group = {
  summary: "Create, list, change and revoke the API keys of a service, and read their audit.",
  introduction:
    "The API keys of a service: who may submit, how much, and what. A change binds on all replicas within a second.",
  commands: {
    create: {
      summary: "Create a key and show it, this once.",
      load: async () => (await import("./commands/keysChange.js")).create,
    },
    list: {
      summary: "Show the keys: their state, and what is set for them.",
      load: async () => (await import("./commands/keysRead.js")).list,
    },
    show: {
      summary: "Show one key.",
      load: async () => (await import("./commands/keysRead.js")).show,
    },
    update: {
      summary: "Change a key's label, expiry, limits, scope or caps.",
      load: async () => (await import("./commands/keysChange.js")).update,
    },
    rotate: {
      summary: "Give a key a new secret; the old one stays good for a while.",
      load: async () => (await import("./commands/keysChange.js")).rotate,
    },
    disable: {
      summary: "Let a key rest: it is refused until it is enabled again.",
      load: async () => (await import("./commands/keysChange.js")).disable,
    },
    enable: {
      summary: "Let a disabled key in again.",
      load: async () => (await import("./commands/keysChange.js")).enable,
    },
    revoke: {
      summary: "End a key for good.",
      load: async () => (await import("./commands/keysChange.js")).revoke,
    },
    audit: {
      summary: "Show who changed which key, when, and how.",
      load: async () => (await import("./commands/keysRead.js")).audit,
    },
  },
};

export const PROGRAM: Group = {
  summary: "",
  introduction:
    "A relay for gas-waived transactions: users sign with gas price 0, a waiver carries them on chain.",
  commands: {
    dev: {
      summary: "Start a local chain and the service together, and send one gasless transfer.",
      load: async () => (await import("./commands/dev.js")).dev,
    },
    devnet: {
      summary: "Start a local chain alone, kept in a folder if wanted, with bad days on command.",
      load: async () => (await import("./commands/devnet.js")).devnet,
    },
    serve: {
      summary: "Start the submission service alone.",
      load: async () => (await import("./commands/serve.js")).serve,
    },
    keys: KEYS,
    lanes: LANES,
    governance: GOVERNANCE,
  },
};

export interface ProgramContext extends Context {
  readonly printError: (line: string) => void;
}

/** What the process ends with. */
export const STATUS = { ok: 0, failed: 1, usage: 2 } as const;

const HELP = ["--help", "-h", "help"];

/** Runs the command that the arguments name. @returns the status to end with; it never throws. */
export async function run(argv: readonly string[], context: ProgramContext): Promise<number> {
  const [name] = argv;
  if (name === "--version" || name === "-v") {
    context.print(VERSION);
    return STATUS.ok;
  }
  return runOneOf(PROGRAM, "", argv, context);
}

async function runOneOf(
  { commands, introduction }: Group,
  prefix: string,
  [name, ...rest]: readonly string[],
  context: ProgramContext,
): Promise<number> {
  const { print, printError } = context;
  if (name !== undefined && HELP.includes(name)) {
    print(helpOfAll(commands, prefix, introduction));
    return STATUS.ok;
  }
  const found = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (name === undefined || found === undefined) {
    printError(
      name === undefined
        ? `gas-waiver${prefix}: no command is given`
        : `gas-waiver${prefix}: ${name} is no command`,
    );
    printError(`\n${helpOfAll(commands, prefix, introduction)}`);
    return STATUS.usage;
  }
  const path = `${prefix} ${name}`;
  if ("commands" in found) return runOneOf(found, path, rest, context);
  return runEntry(found, path, rest, context);
}

async function runEntry(
  entry: Entry,
  path: string,
  argv: readonly string[],
  context: ProgramContext,
): Promise<number> {
  try {
    const command = await entry.load();
    if (argv.includes("--help") || argv.includes("-h")) {
      context.print(helpOf(path, entry, command));
      return STATUS.ok;
    }
    await command.run(argv, context);
    return STATUS.ok;
  } catch (error) {
    if (context.signal.aborted) return STATUS.ok;
    return report(error, path, context.printError);
  }
}

function report(error: unknown, path: string, printError: (line: string) => void): number {
  if (error instanceof UsageError) {
    printError(`gas-waiver${path} cannot start with these settings:`);
    for (const problem of error.problems) printError(`  - ${problem}`);
    printError(`gas-waiver${path} --help shows them all.`);
    return STATUS.usage;
  }
  printError(`gas-waiver: ${errorMessage(error)}`);
  return STATUS.failed;
}

function helpOfAll(
  commands: Readonly<Record<string, Entry | Group>>,
  prefix: string,
  introduction: string,
): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 3;
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`);
  const call = `gas-waiver${prefix} <command>`;
  return [
    `Usage: ${call} [flags]`,
    "",
    introduction,
    "",
    "Commands:",
    ...lines,
    "",
    `${call} --help  shows the flags of a command.`,
    ...(prefix === "" ? ["gas-waiver --version         shows the version."] : []),
  ].join("\n");
}

function helpOf(path: string, { summary }: Entry, { description, settings }: Command): string {
  return `Usage: gas-waiver${path} [flags]\n\n${summary}\n${description}\n\n${settingsHelp(settings)}`;
}
