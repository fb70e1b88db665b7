import { parseArgs } from "node:util";
import {
  type Alternatives,
  InvalidValueError,
  nameOf,
  type Setting,
  type Settings,
  type SettingsRules,
  type Values,
} from "./setting.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings of a command from its arguments and the environment.
 * @throws {@link UsageError} with all problems, not only the first.
 */
export function readSettings<const S extends Settings>(
  settings: S,
  { alternatives = [], check }: SettingsRules<S>,
  argv: readonly string[],
  env: Environment,
): Values<S> {
  const { given, problems } = readFlags(settings, argv);
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const source = given.get(key) ?? fromEnvironment(setting, env);
    if (source !== undefined) given.set(key, source);
    const text = source?.text ?? setting.defaultValue;
    if (text === undefined) {
      if (setting.required) problems.push(`${waysToGive(setting)} is missing: ${setting.help}`);
    } else if (text !== UNREADABLE) {
      const parsed = parseOne(setting, source?.name ?? nameOf(setting), text);
      if ("problem" in parsed) problems.push(parsed.problem);
      else values[key] = parsed.value;
    }
  }
  problems.push(...alternatives.flatMap((group) => problemsOfAlternatives(settings, group, given)));
  problems.push(...(check?.(values as Partial<Values<S>>) ?? []));
  if (problems.length > 0) throw new UsageError(problems);
  return values as Values<S>;
}

/** The text of a setting, with the flag or variable that gave it. */
interface Source {
  /** The flag with its dashes, or the variable's name. */
  readonly name: string;
  readonly text: string | typeof UNREADABLE;
}

/** Marks a flag whose value is missing or superfluous. The problem is in the list already. */
const UNREADABLE = Symbol("unreadable");

interface Flags {
  readonly given: Map<string, Source>;
  readonly problems: string[];
}

function readFlags(settings: Settings, argv: readonly string[]): Flags {
  const given = new Map<string, Source>();
  const problems: string[] = [];
  for (const token of tokensOf(settings, argv)) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      const [key = "", positional] = Object.entries(settings).find(([, one]) => one.positional) ?? [];
      if (positional === undefined)
        problems.push(`${JSON.stringify(token.value)} is not expected: settings are given by flags`);
      else if (given.has(key)) problems.push(`${JSON.stringify(token.value)} is one argument too many`);
      else given.set(key, { name: nameOf(positional), text: token.value });
      continue;
    }
    const [key, setting] = Object.entries(settings).find(([, { flag }]) => flag === token.name) ?? [];
    if (key === undefined || setting === undefined || !token.rawName.startsWith("--")) {
      problems.push(`${token.rawName} is not a flag of this command`);
    } else if (given.has(key) && !setting.repeatable) {
      problems.push(`--${token.name} is given more than once`);
    } else {
      const text = textOf(token.name, token.value, setting, problems);
      given.set(key, { name: `--${token.name}`, text: joinRepeated(given.get(key)?.text, text) });
    }
  }
  return { given, problems };
}

function joinRepeated(before: Source["text"] | undefined, text: Source["text"]): Source["text"] {
  if (before === undefined || text === UNREADABLE) return text;
  return before === UNREADABLE ? UNREADABLE : `${before},${text}`;
}

function textOf(
  name: string,
  value: string | undefined,
  { placeholder }: Setting<unknown>,
  problems: string[],
) {
  if (placeholder === undefined) {
    if (value === undefined) return "true";
    problems.push(`--${name} takes no value`);
    return UNREADABLE;
  }
  if (value !== undefined && value !== "") return value;
  problems.push(`--${name} needs a value: --${name} ${placeholder}`);
  return UNREADABLE;
}

/** The arguments as tokens of `parseArgs`, except that a flag does not consume the next flag as its value. */
function tokensOf(settings: Settings, argv: readonly string[]): Token[] {
  const options = Object.fromEntries(
    Object.values(settings).flatMap(({ flag, placeholder }) =>
      flag === undefined ? [] : [[flag, { type: placeholder === undefined ? "boolean" : "string" } as const]],
    ),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const consumed = tokens.findIndex(
    (token) => token.kind === "option" && token.inlineValue === false && token.value.startsWith("--"),
  );
  const flag = tokens[consumed];
  if (flag?.kind !== "option") return tokens;
  return [
    ...tokens.slice(0, consumed),
    { ...flag, value: undefined, inlineValue: undefined },
    ...tokensOf(settings, argv.slice(flag.index + 1)),
  ];
}

type Token = NonNullable<ReturnType<typeof parseArgs<{ tokens: true; strict: false }>>["tokens"]>[number];

function fromEnvironment({ env: name }: Setting<unknown>, env: Environment): Source | undefined {
  const text = name === undefined ? undefined : env[name];
  // Shells and containers often pass an empty variable for one that is not set.
  return name === undefined || text === undefined || text === "" ? undefined : { name, text };
}

function parseOne(
  setting: Setting<unknown>,
  name: string,
  text: string,
): { value: unknown } | { problem: string } {
  try {
    return { value: setting.parse(text) };
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    return { problem: `${name}${setting.secret ? "" : ` ${JSON.stringify(text)}`} ${error.message}` };
  }
}

/** The problems of settings that exclude each other. */
function problemsOfAlternatives(
  settings: Settings,
  { keys, subject, required }: Alternatives,
  given: ReadonlyMap<string, Source>,
): string[] {
  const sources = keys.flatMap((key) => given.get(key)?.name ?? []);
  if (sources.length > 1)
    return [`${sources.join(" and ")} are both given: ${subject} comes from one of them`];
  if (sources.length === 1 || !required) return [];
  const ways = keys.flatMap((key) => settings[key] ?? []).map(waysToGive);
  return [`${subject} is missing: give ${ways.join(" or ")}`];
}

function waysToGive({ flag, env, placeholder, positional }: Setting<unknown>): string {
  if (positional) return placeholder ?? "";
  const ways = [flag === undefined ? [] : [`--${flag} ${placeholder ?? ""}`.trim()], env ?? []].flat();
  return ways.join(" or ");
}

/** The settings of a command are wrong. `problems` has one sentence for each problem. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
