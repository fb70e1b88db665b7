import type { Command, CommandEntry, CommandGroup } from "./command.js";
import { statusesOf } from "./exitStatus.js";
import { RELOADABLE, type Setting, type Settings } from "./settings/setting.js";
import { wrapped } from "./settings/wrapped.js";

/** The help of a group. @param path of the group, with a space before each word: " keys", or "" for the program. */
export function groupHelp({ commands, introduction }: CommandGroup, path: string): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 3;
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`);
  const call = `gas-waiver${path} <command>`;
  return [
    `Usage: ${call} [flags]`,
    "",
    introduction,
    "",
    "Commands:",
    ...lines,
    "",
    `${call} --help  shows the flags of a command.`,
    ...(path === "" ? ["gas-waiver --version         shows the version."] : []),
  ].join("\n");
}

function indented(example: string): string {
  return example
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}

/** The help of one command. @param path of the command, with a space before each word: " keys create". */
export function commandHelp(
  path: string,
  { summary }: CommandEntry,
  { description, examples, failure, settings }: Command,
): string {
  const argument = Object.values(settings).find(({ positional }) => positional);
  const call = `gas-waiver${path}${argument ? ` <${argument.placeholder}${argument.repeatable ? " …" : ""}>` : ""} [flags]`;
  return [
    `Usage: ${call}`,
    `${summary}\n${description}`,
    `${examples.length > 1 ? "Examples" : "Example"}:\n${examples.map(indented).join("\n")}`,
    settingsHelp(settings),
    `Exit status: ${statusesOf(failure)}`,
  ].join("\n\n");
}

const FLAG_COLUMN = 30;
const LINE_WIDTH = 100;

/** The settings as lines of the help: the flags, then the variables that have no flag. */
function settingsHelp(settings: Settings): string {
  const all = Object.values(settings);
  const flags = all.filter(({ flag }) => flag !== undefined);
  const variables = all.filter(({ flag, positional }) => flag === undefined && !positional);
  const positional = all.filter((setting) => setting.positional);
  const parts = [
    ...positional.flatMap((setting) => ["Argument:", entry(setting.placeholder ?? "", setting), ""]),
    "Flags:",
    ...flags.map((setting) => entry(flagOf(setting), setting)),
  ];
  parts.push(entry("--help", { help: "Show this help." }));
  if (variables.length > 0) {
    parts.push("", "Environment variables that have no flag, since arguments can be seen by others:");
    parts.push(...variables.map((setting) => entry(setting.env ?? "", { ...setting, env: "" })));
  }
  return parts.join("\n");
}

function flagOf({ flag, placeholder }: Setting<unknown>): string {
  return `--${flag}${placeholder === undefined ? "" : ` ${placeholder}`}`;
}

function entry(name: string, setting: Partial<Setting<unknown>>): string {
  const { help = "", defaultValue, defaultText = defaultValue, env, required, reload } = setting;
  const notes = [
    ...(required ? ["Required."] : []),
    ...(defaultText === undefined ? [] : [`Default: ${defaultText}.`]),
    ...(reload ? [RELOADABLE] : []),
    ...(env ? [`[${env}]`] : []),
  ];
  const lines = wrapped([help, ...notes].join(" "), LINE_WIDTH - FLAG_COLUMN);
  const start = `  ${name}`;
  const first = start.length < FLAG_COLUMN ? start.padEnd(FLAG_COLUMN) + lines.shift() : start;
  return [first, ...lines.map((line) => " ".repeat(FLAG_COLUMN) + line)].join("\n");
}
