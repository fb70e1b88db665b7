import { type Environment, readSettings } from "./settings/readSettings.js";
import type { Settings, SettingsRules, Values } from "./settings/setting.js";

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
  /** Aborted when the program must end. A command then returns, or throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Calls the listener at each SIGHUP, which asks a running program to read its key file and its certificate again. */
  readonly onHangup?: (listener: () => void) => void;
}

export interface CommandDefinition<S extends Settings> {
  /** The paragraphs of the help after the command's summary. */
  readonly description: string;
  readonly settings: S;
  /** Rules between the settings. */
  readonly rules: SettingsRules<S>;
  run(values: Values<S>, context: Context): Promise<void>;
}

export interface Command {
  readonly description: string;
  readonly settings: Settings;
  /**
   * Reads the settings and runs until the command is done or the signal is aborted.
   * @throws UsageError if the settings are wrong, or any error of the command.
   */
  run(argv: readonly string[], context: Context): Promise<void>;
}

export function defineCommand<const S extends Settings>(definition: CommandDefinition<S>): Command {
  const { description, settings, rules } = definition;
  return {
    description,
    settings,
    run: (argv, context) => definition.run(readSettings(settings, rules, argv, context.env), context),
  };
}
