import { type Environment, readSettings } from "./settings/readSettings.js";
import type { Agreement, Settings, Values } from "./settings/setting.js";

/** What a command may use of the process it runs in. */
export interface Context {
  readonly env: Environment;
  /** Prints a line for the person who started the program. */
  readonly print: (line: string) => void;
  /** Aborted when the program shall end; a command that is done by then just returns or throws its reason. */
  readonly signal: AbortSignal;
  /** Calls the listener on SIGHUP: settings that can change while the program runs are to be read again. */
  readonly onHangup?: (listener: () => void) => void;
}

export interface CommandDefinition<S extends Settings> {
  /** What the help says beyond the command's summary. */
  readonly description: string;
  readonly settings: S;
  readonly agreement: Agreement<S>;
  run(values: Values<S>, context: Context): Promise<void>;
}

export interface Command {
  readonly description: string;
  readonly settings: Settings;
  /**
   * Reads the settings and runs until the command is done or the signal is aborted.
   * @throws UsageError for wrong settings, or what the command fails with.
   */
  run(argv: readonly string[], context: Context): Promise<void>;
}

export function defineCommand<const S extends Settings>(definition: CommandDefinition<S>): Command {
  const { description, settings, agreement } = definition;
  return {
    description,
    settings,
    run: (argv, context) => definition.run(readSettings(settings, agreement, argv, context.env), context),
  };
}
