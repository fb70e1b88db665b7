import { parseArgs } from "node:util";
import { hintOf } from "./closestWord.js";
import { nameOf, type Setting, type Settings } from "./setting.js";
import { type Source, UNREADABLE } from "./source.js";

/** The settings that flags give, and the problems of the flags. */
export interface Flags {
  readonly given: Map<string, Source>;
  readonly problems: string[];
}

/** Reads the arguments of a command. */
export function readFlags(settings: Settings, argv: readonly string[]): Flags {
  const given = new Map<string, Source>();
  const problems: string[] = [];
  for (const token of tokensOf(settings, argv)) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      const [key = "", positional] = Object.entries(settings).find(([, one]) => one.positional) ?? [];
      if (positional === undefined)
        problems.push(`${JSON.stringify(token.value)} is not expected: settings are given by flags`);
      else if (given.has(key) && !positional.repeatable)
        problems.push(`${JSON.stringify(token.value)} is one argument too many`);
      else {
        const text = joinRepeated(given.get(key)?.text, token.value);
        given.set(key, { name: nameOf(positional), text, origin: "flag" });
      }
      continue;
    }
    const [key, setting] = Object.entries(settings).find(([, { flag }]) => flag === token.name) ?? [];
    if (key === undefined || setting === undefined || !token.rawName.startsWith("--")) {
      const known = Object.values(settings).flatMap(({ flag }) => (flag === undefined ? [] : [`--${flag}`]));
      problems.push(`${token.rawName} is not a flag of this command${hintOf(token.rawName, known)}`);
    } else if (given.has(key) && !setting.repeatable) {
      problems.push(`--${token.name} is given more than once`);
    } else {
      const text = textOf(token.name, token.value, setting, problems);
      given.set(key, {
        name: `--${token.name}`,
        text: joinRepeated(given.get(key)?.text, text),
        origin: "flag",
      });
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
