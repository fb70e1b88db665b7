import type { ConfigFile, FileProblem, FileValue } from "./configFile.js";
import { readFlags } from "./readFlags.js";
import {
  fileKeyOf,
  InvalidValueError,
  nameOf,
  type Setting,
  type Settings,
  type SettingsRules,
  type Values,
} from "./setting.js";
import { type Place, placeIn, type Source, UNREADABLE } from "./source.js";
import { withoutUrlSecrets } from "./withoutUrlSecrets.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of a command as far as they can be read, and where each came from. */
export interface SettingsReading<S extends Settings> {
  /** Settings that do not parse are absent. */
  readonly values: Partial<Values<S>>;
  /** By the names of the settings; those that have their default are absent. */
  readonly sources: ReadonlyMap<string, Source>;
  /** One sentence for each problem; those of the configuration file come first, in its order. */
  readonly problems: readonly string[];
}

/** The places that settings are read from. Flags win over variables, and both over the file. */
export interface SettingsPlaces {
  readonly argv: readonly string[];
  readonly env: Environment;
  /** Values of a configuration file by their keys, and its path. */
  readonly file?: { readonly path: string; readonly values: ReadonlyMap<string, FileValue> } | undefined;
}

/**
 * Reads the settings of a command from its arguments, the environment, and the configuration file that one of both names.
 * @throws {@link UsageError} with all problems, not only the first.
 */
export function readSettings<const S extends Settings>(
  settings: S,
  rules: SettingsRules<S>,
  argv: readonly string[],
  env: Environment,
): Values<S> {
  const { values, problems } = resolveSettings(settings, rules, { argv, env });
  if (problems.length > 0) throw new UsageError(problems);
  return values as Values<S>;
}

/** Reads the settings as {@link readSettings} does, and goes on after problems. */
export function resolveSettings<const S extends Settings>(
  settings: S,
  { requires = [], check }: SettingsRules<S>,
  { argv, env, file }: SettingsPlaces,
): SettingsReading<S> {
  const { given, problems } = readFlags(settings, argv);
  for (const [key, setting] of Object.entries(settings)) {
    const source = given.get(key) ?? fromEnvironment(setting, env);
    if (source !== undefined) given.set(key, source);
  }
  const configFile = readNamedFile(settings, given, problems);
  addValuesOfFile(settings, given, file ?? configFile);
  addPresets(settings, given);
  const found: Problem[] = problems.map((text) => ({ text }));
  if (configFile) found.push(...configFile.problems.map((problem) => located(configFile.path, problem)));
  if (configFile?.isBroken) return { values: {}, sources: given, problems: inOrder(found) };
  const values: Record<string, unknown> = configFile ? { [configFile.key]: configFile } : {};
  for (const [key, setting] of Object.entries(settings)) {
    if (setting.isConfigFile) continue;
    const source = given.get(key);
    const text = source?.text ?? setting.defaultValue;
    if (source === undefined && text !== undefined && configFile && isOfNetworks(configFile, setting)) {
      const choice = `give ${waysToGive(setting)} of one`;
      found.push({ text: `${configFile.path} has a list of networks: ${choice}` });
    } else if (text === undefined) {
      if (setting.required) found.push({ text: `${waysToGive(setting)} is missing: ${setting.help}` });
    } else if (text !== UNREADABLE) {
      const parsed = parseOne(setting, source?.name ?? nameOf(setting), text);
      if ("problem" in parsed) found.push({ text: parsed.problem, place: source?.place });
      else values[key] = parsed.value;
    }
  }
  found.push(...problemsOfSubjects(settings, requires, given));
  for (const text of check?.(values as Partial<Values<S>>) ?? []) {
    const named = settingsNamedIn(text, settings);
    // A setting that does not parse has its problem already, and is not missing.
    if (named.some((key) => given.has(key) && !Object.hasOwn(values, key))) continue;
    found.push(withPlace(text, named, given));
  }
  return { values: values as Partial<Values<S>>, sources: given, problems: inOrder(found) };
}

/** A problem, with its line and column if a configuration file has it. */
interface Problem {
  readonly text: string;
  readonly place?: Place | undefined;
}

function located(path: string, { line, column, text }: FileProblem): Problem {
  return { text: `${placeIn(path, { line, column })}: ${text}`, place: { line, column } };
}

/** A rule between settings names them by their flags. The first one that the file has leads to its place there. */
function withPlace(text: string, named: readonly string[], given: ReadonlyMap<string, Source>): Problem {
  for (const key of named) {
    const { file, place } = given.get(key) ?? {};
    if (file !== undefined && place) return { text: `${placeIn(file, place)}: ${text}`, place };
  }
  return { text };
}

function settingsNamedIn(text: string, settings: Settings): string[] {
  return [...text.matchAll(/--[a-z][a-z0-9-]*/g)].flatMap(
    ([name]) => Object.entries(settings).find(([, setting]) => nameOf(setting) === name)?.[0] ?? [],
  );
}

/** Those of the file come in its order; the others follow in theirs. */
function inOrder(problems: readonly Problem[]): string[] {
  const ofFile = problems
    .flatMap(({ text, place }) => (place ? { text, ...place } : []))
    .sort((a, b) => a.line - b.line || a.column - b.column);
  return [...ofFile, ...problems.filter(({ place }) => place === undefined)].map(({ text }) => text);
}

/** Reads the configuration file that a flag or a variable names. */
function readNamedFile(settings: Settings, given: ReadonlyMap<string, Source>, problems: string[]) {
  const [key, setting] = Object.entries(settings).find(([, { isConfigFile }]) => isConfigFile) ?? [];
  const source = given.get(key ?? "");
  if (key === undefined || setting === undefined || source === undefined) return undefined;
  if (source.text === UNREADABLE) return undefined;
  const parsed = parseOne(setting, source.name, source.text);
  if ("value" in parsed) return { key, ...(parsed.value as ConfigFile) };
  problems.push(parsed.problem);
  return undefined;
}

/** Whether networks of the file give a value of their own: then a default is that of none. */
function isOfNetworks({ networks = [] }: ConfigFile, setting: Setting<unknown>): boolean {
  return networks.some(({ values }) => valueFor(setting, values) !== undefined);
}

/** Settings of one key in the file may be two, such as `--rate` of `keys create`. They differ in their variables. */
function valueFor(setting: Setting<unknown>, values: ReadonlyMap<string, FileValue>): FileValue | undefined {
  const value = values.get(fileKeyOf(setting) ?? "");
  return value?.env === setting.env ? value : undefined;
}

/** Adds the values of the file for settings of which neither a flag nor a variable gives one, or the subject. */
function addValuesOfFile(settings: Settings, given: Map<string, Source>, file: SettingsPlaces["file"]): void {
  if (file === undefined) return;
  const replaced = new Set([...given.keys()].flatMap((key) => settings[key]?.subject ?? []));
  for (const [key, setting] of Object.entries(settings)) {
    const value = valueFor(setting, file.values);
    if (value === undefined || given.has(key) || replaced.has(setting.subject ?? "")) continue;
    const place = { line: value.line, column: value.column };
    const name = `${placeIn(file.path, place)}: ${value.key}`;
    given.set(key, { name, text: value.text, origin: "file", file: file.path, place });
  }
}

/** Adds the values that a setting gives to others. */
function addPresets(settings: Settings, given: Map<string, Source>): void {
  const textOf = (key: string) => {
    const text = given.get(key)?.text;
    return typeof text === "string" ? text : undefined;
  };
  for (const [key, setting] of Object.entries(settings)) {
    const source = given.get(key);
    if (setting.presets === undefined || typeof source?.text !== "string") continue;
    for (const [other, text] of Object.entries(setting.presets(source.text, textOf))) {
      if (!given.has(other)) given.set(other, { ...source, name: `${source.name} ${source.text}`, text });
    }
  }
}

function fromEnvironment({ env: name }: Setting<unknown>, env: Environment): Source | undefined {
  const text = name === undefined ? undefined : env[name];
  // Shells and containers often pass an empty variable for one that is not set.
  return name === undefined || text === undefined || text === ""
    ? undefined
    : { name, text, origin: "environment" };
}

function parseOne(
  setting: Setting<unknown>,
  name: string,
  text: string,
): { value: unknown } | { problem: string } {
  try {
    return { value: setting.parse ? setting.parse(text) : text === "true" };
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    const shown = setting.secret ? "" : ` ${JSON.stringify(withoutUrlSecrets(text))}`;
    return { problem: `${name}${shown} ${error.message}` };
  }
}

/** The problems of subjects that no setting gives, or more than one. */
function problemsOfSubjects(
  settings: Settings,
  requires: readonly string[],
  given: ReadonlyMap<string, Source>,
): Problem[] {
  const subjects = new Set(Object.values(settings).flatMap(({ subject }) => subject ?? []));
  return [...subjects].flatMap((subject) => {
    const sources = [...given].flatMap(([key, source]) => (settings[key]?.subject === subject ? source : []));
    if (sources.length > 1) {
      const text = `${sources.map(({ name }) => name).join(" and ")} are both given: ${subject} comes from one of them`;
      return [{ text, place: sources[0]?.place }];
    }
    if (sources.length === 1 || !requires.includes(subject)) return [];
    const members = Object.values(settings).filter((one) => one.subject === subject);
    return [{ text: `${subject} is missing: give ${members.map(waysToGive).join(" or ")}` }];
  });
}

function waysToGive({ flag, env, fileKey, placeholder, positional }: Setting<unknown>): string {
  if (positional) return placeholder ?? "";
  if (flag === undefined && env === undefined) return fileKey ?? "";
  const ways = [flag === undefined ? [] : [`--${flag} ${placeholder ?? ""}`.trim()], env ?? []].flat();
  return ways.join(" or ");
}

/** The settings of a command are wrong. `problems` has one sentence for each problem. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}
