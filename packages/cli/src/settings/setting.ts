import type { Parser } from "./form.js";

/** One input of a command: a flag, an environment variable, a key of the configuration file. A flag wins over a variable, and both over the file. */
export interface Setting<T> {
  /** The flag's name without its dashes. A command's setting that nothing else gives has the flag of its name. */
  readonly flag?: string;
  /** The environment variable's name. */
  readonly env?: string;
  /** The key in the configuration file of a setting without a flag. The key of a flag is its name. */
  readonly fileKey?: string;
  /** True for the one setting that names the configuration file. Its value has the entries of the file. */
  readonly isConfigFile?: boolean;
  /** The value's name in the help, such as `PORT`. A flag without a placeholder takes no value. */
  readonly placeholder?: string;
  /** One sentence for the help. */
  readonly help: string;
  /** True if the value is a secret, which never appears in a message. */
  readonly secret?: boolean;
  /** The default, written as a person would give it. */
  readonly defaultValue?: string;
  /** The default as the help names it, for a setting whose default the service itself applies. */
  readonly defaultText?: string;
  readonly required?: boolean;
  /** True if the flag may come several times. Its values are then joined with commas. */
  readonly repeatable?: boolean;
  /**
   * Present if a running service takes over another value when it reads its settings again: always, or only where there was a
   * value and still is one.
   */
  readonly reload?: "always" | "while given";
  /** The subject that the setting gives, such as "the API key". Settings of one subject exclude each other. */
  readonly subject?: string;
  /** True for what is given as arguments without a flag. */
  readonly positional?: boolean;
  /**
   * The texts that a value of this setting gives to others, by their keys. They count where nothing else gives one.
   * @param textOf returns the text of another setting that is given.
   */
  readonly presets?: (
    text: string,
    textOf: (key: string) => string | undefined,
  ) => Readonly<Record<string, string>>;
  /** Throws an {@link InvalidValueError} if the text is wrong. A setting without a parser is a switch, true if it is given. */
  readonly parse?: Parser<T>;
}

/** The note in help, schema and tables for a setting that a running service takes over. */
export const RELOADABLE = "Reloadable.";

export type Settings = Readonly<Record<string, Setting<unknown>>>;

type Value<S> = "parse" extends keyof S ? (S extends Setting<infer T> ? T : never) : boolean;

/** The parsed values of settings; undefined for a setting that is not given and has no default. */
export type Values<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends { readonly defaultValue: string } | { readonly required: true }
    ? Value<S[K]>
    : Value<S[K]> | undefined;
};

/** The entries of an object whose names are first ones, and the others. */
function split(object: object, isFirst: (name: string) => boolean): [object, object] {
  const entries = Object.entries(object);
  const pick = (first: boolean) => Object.fromEntries(entries.filter(([name]) => isFirst(name) === first));
  return [pick(true), pick(false)];
}

/** The values of these settings, as far as they are there, and the others. */
export function splitValues<const S extends Settings, V extends object>(
  settings: S,
  values: V,
): [Values<S>, Omit<V, keyof S>] {
  return split(values, (name) => Object.hasOwn(settings, name)) as [Values<S>, Omit<V, keyof S>];
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The values that are given, as options. */
export function withoutUndefined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** The flag and the variable of a service's setting, by words such as `tls-cert`. */
export const namesOf = (words: string) => ({
  flag: words,
  env: `GAS_WAIVER_${words.toUpperCase().replaceAll("-", "_")}`,
});

const wordsOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Gives settings their flags and variables by their names: `tlsCert` is --tls-cert and GAS_WAIVER_TLS_CERT. */
export function serviceSettings<const S extends Settings>(settings: S): S {
  const entries = Object.entries(settings).map(([name, setting]) => [
    name,
    { ...namesOf(wordsOf(name)), ...setting },
  ]);
  return Object.fromEntries(entries);
}

type Named<S> = { readonly [K in keyof S]: Pick<Setting<unknown>, "flag"> };

/** Gives flags by their names to the settings that nothing else gives: `olderThan` is --older-than. */
export function withFlags<const S extends Settings>(settings: S): S & Named<S> {
  const entries = Object.entries<Setting<unknown>>(settings).map(([name, setting]) => {
    const { env, positional, fileKey } = setting;
    return [name, env || positional || fileKey ? setting : { flag: wordsOf(name), ...setting }];
  });
  return Object.fromEntries(entries);
}

/** The settings for which a test of their names holds, and the others. */
export function splitSettings<S extends Settings, K extends keyof S & string>(
  settings: S,
  isFirst: (name: string) => name is K,
): [Pick<S, K>, Omit<S, K>] {
  return split(settings, isFirst) as [Pick<S, K>, Omit<S, K>];
}

/** The same settings, marked as those whose new values a running service takes over. */
export function reloadable<const S extends Settings>(settings: S): S {
  const marked = Object.entries(settings).map(([key, setting]) => [key, { ...setting, reload: "always" }]);
  return Object.fromEntries(marked);
}

/** The same settings as flags alone, for a command that reads no environment variable, and reads nothing again. */
export function flagsOf<const S extends Settings>(
  settings: S,
): { readonly [K in keyof S]: Omit<S[K], "env" | "reload"> & Pick<S[K], "help"> } {
  const flags = Object.entries(settings).map(([key, { env: _, reload: __, ...flag }]) => [key, flag]);
  return Object.fromEntries(flags);
}

/** Rules between the settings of a command. */
export interface SettingsRules<S extends Settings> {
  /** Subjects that one of their settings must give. */
  readonly requires?: readonly string[];
  /** Returns one sentence for each problem between the values. Values that do not parse are absent. */
  readonly check?: (values: Partial<Values<S>>) => readonly string[];
}

/** The setting's name for a person: its flag, or else its variable. */
export function nameOf({ flag, env, positional, placeholder }: Setting<unknown>): string {
  if (positional) return placeholder ?? "";
  return flag === undefined ? (env ?? "") : `--${flag}`;
}

/** The setting's key in a configuration file; undefined if the file cannot have it. */
export function fileKeyOf({ flag, fileKey, isConfigFile }: Setting<unknown>): string | undefined {
  return isConfigFile ? undefined : (fileKey ?? flag);
}

/** A value does not parse. The message continues a sentence that starts with the value: "is not a whole number". */
export class InvalidValueError extends Error {
  override readonly name = "InvalidValueError";
}
