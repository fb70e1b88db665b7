import type { Command, CommandEntry, CommandGroup } from "../../packages/cli/src/command.js";
import { PROGRAM } from "../../packages/cli/src/program.js";
import { SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import { nameOf, RELOADABLE, type Setting } from "../../packages/cli/src/settings/setting.js";
import { code, codeBlock, heading, page, table } from "./markdown.js";

/** The settings on the page of the settings. Another command may have one of the same name with another meaning or default. */
const SERVICE_SETTINGS = new Set(Object.values(SERVE_SETTINGS).map(identityOf));

function identityOf(setting: Setting<unknown>): string {
  return `${nameOf(setting)} ${setting.defaultText} ${setting.help}`;
}

/** A command under all the words that call it. */
export interface NamedCommand {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
}

/** Every command of the program, in the order of its help. */
export async function allCommands(
  group: CommandGroup = PROGRAM,
  prefix = "gas-waiver",
): Promise<NamedCommand[]> {
  const found: NamedCommand[] = [];
  for (const [word, entry] of Object.entries(group.commands)) {
    const name = `${prefix} ${word}`;
    if ("commands" in entry) found.push(...(await allCommands(entry, name)));
    else found.push(await namedCommand(name, entry));
  }
  return found;
}

async function namedCommand(name: string, { summary, load }: CommandEntry): Promise<NamedCommand> {
  return { name, summary, command: await load() };
}

const anchorOf = (name: string) => name.replaceAll(" ", "-");

/** docs/reference/commands.md */
export async function commandsPage(): Promise<string> {
  const commands = await allCommands();
  return page(
    "the commands and settings in packages/cli/src",
    "Commands",
    "`gas-waiver --help` lists the commands, and `gas-waiver COMMAND --help` shows what this page has. [Exit statuses](exit-statuses.md) are the same for all. In a project or a checkout that has the package it is `npx gas-waiver`. Where a variable stands below a flag, either sets the value, and the flag wins.",
    table(
      ["command", "for"],
      commands.map(({ name, summary }) => [`[${code(name)}](#${anchorOf(name)})`, summary]),
    ),
    ...commands.map(commandSection),
  );
}

function commandSection({ name, summary, command }: NamedCommand): string {
  const settings = Object.values(command.settings);
  // The page of the settings has those of `serve`, also where another command has them.
  const explained =
    settings.length > 20 ? settings.filter((one) => SERVICE_SETTINGS.has(identityOf(one))) : [];
  const others = settings.filter((one) => !explained.includes(one));
  const rest = [
    ...(explained.length > 0
      ? [`[Settings](settings.md) explains ${explained.length} of its settings by subject.`]
      : []),
    ...(others.length > 0 ? [settingsTable(others)] : []),
  ];
  return [
    heading(2, name, anchorOf(name)),
    summary,
    command.description.replaceAll("\n", " "),
    codeBlock("sh", command.examples.join("\n")),
    ...(command.failure === undefined ? [] : [`The status is 1 also if ${command.failure}.`]),
    ...(settings.length > 0 ? rest : []),
  ].join("\n\n");
}

export function settingsTable(settings: readonly Setting<unknown>[]): string {
  return table(["setting", "default", "meaning"], settings.map(settingRow));
}

/** A setting by its flag, and below it by its variable. */
function settingRow(setting: Setting<unknown>): string[] {
  const { flag, placeholder, env, defaultValue, defaultText = defaultValue, required, help } = setting;
  const value = placeholder === undefined ? "" : ` ${placeholder}`;
  const names = [
    ...(setting.positional ? [placeholder ?? ""] : []),
    ...(flag === undefined ? [] : [`--${flag}${value}`]),
    ...(env === undefined ? [] : [env]),
  ];
  return [
    names.map(code).join("<br>"),
    required ? "required" : (defaultText ?? ""),
    setting.reload ? `${help} ${RELOADABLE}` : help,
  ];
}
