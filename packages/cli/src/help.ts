import type { Command, CommandEntry, CommandGroup } from "./command.js";
import { statusesOf } from "./exitStatus.js";
import { settingsHelp } from "./settings/settingsHelp.js";

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
