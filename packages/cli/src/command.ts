import { type Environment, readSettings } from "./settings/readSettings.js";
import { type Settings, type SettingsRules, type Values, withFlags } from "./settings/setting.js";

/** The parts of the process that a command may use. */
export interface Context {
  readonly env: Environment;
  /** Prints a line to standard output. */
  readonly print: (line: string) => void;
  /** Writes to standard output. Resolves when the text has left the process, so that a slow reader slows the command. */
  readonly write: (text: string) => Promise<void>;
  /** Shows one line on standard error in place of the one before. Absent if that is no terminal. */
  readonly progress?: ((line: string) => void) | undefined;
  /** Asks at the terminal, which does not show the answer. Absent if there is no terminal. */
  readonly promptSecret?: (question: string) => Promise<string>;
  /** The terminal that shows standard output. Absent if that is no terminal. */
  readonly terminal?: Terminal | undefined;
  /** Aborted when the program must end. A command then returns, or throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Gives the command this time on top, in ms, when it is told to end: it goes on working on purpose before it shuts down. */
  readonly delayShutdown?: (ms: number) => void;
  /** Calls the listener at each SIGHUP, which asks a running program to read its settings again. */
  readonly onHangup?: (listener: () => void) => void;
}

/** The properties of a terminal that shape what a command prints. */
export interface Terminal {
  /** Characters in a line. */
  readonly columns: number;
  /** False if the user wants none (NO_COLOR). */
  readonly hasColors: boolean;
}

/** The parts of a command's help. */
export interface CommandHelp {
  /** The paragraphs of the help after the command's summary. */
  readonly description: string;
  /** Command lines to copy, at least one. */
  readonly examples: readonly string[];
  /** The cases in which the status is 1 although the command did its work, such as "a transaction has failed". */
  readonly failure?: string;
  /**
   * True for a command that serves until it is ended: a shutdown that takes too long leaves nothing undone. Any other command
   * that is cut off has failed.
   */
  readonly isService?: boolean;
}

export interface CommandDefinition<S extends Settings> extends CommandHelp, SettingsRules<S> {
  readonly settings: S;
  run(values: Values<S>, context: Context): Promise<void>;
}

export interface Command extends CommandHelp {
  readonly settings: Settings;
  /**
   * Reads the settings and runs until the command is done or the signal is aborted.
   * @throws UsageError if the settings are wrong, or any error of the command.
   */
  run(argv: readonly string[], context: Context): Promise<void>;
}

/** A command by its name in the table of the program. */
export interface CommandEntry {
  readonly summary: string;
  /** Imports the command's module when it is called, so that `--help` does not load the chain and the service. */
  load(): Promise<Command>;
}

/** Commands under a common first word, such as `keys`. */
export interface CommandGroup {
  readonly summary: string;
  /** The first paragraph of the group's help. */
  readonly introduction: string;
  readonly commands: Readonly<Record<string, CommandEntry | CommandGroup>>;
}

export function defineCommand<const S extends Settings>(definition: CommandDefinition<S>): Command {
  const { run, ...help } = definition;
  const settings = withFlags(definition.settings);
  return {
    ...help,
    settings,
    run: (argv, context) => run(readSettings(settings, definition, argv, context.env), context),
  };
}
