import type { CommandEntry, CommandGroup } from "../command.js";
import { formOf } from "../settings/form.js";
import type { Setting } from "../settings/setting.js";

/** The value that a flag or an argument takes, as far as a shell can complete it. */
export type ValueKind =
  | { readonly kind: "none" | "file" | "folder" | "text" }
  | { readonly kind: "choice"; readonly choices: readonly string[] };

export interface CompletedFlag {
  /** The name without its dashes. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  readonly value: ValueKind;
}

/** A command or a group of commands, as the completion of a shell needs it. */
export interface CompletedCommand {
  /** The words that call it, without the program's name: none for the program itself. */
  readonly path: readonly string[];
  readonly summary: string;
  /** The words that may follow, with their summaries; empty for a command. */
  readonly words: readonly { readonly word: string; readonly summary: string }[];
  readonly flags: readonly CompletedFlag[];
  /** The arguments without a flag; undefined if the command takes none. */
  readonly argument: ValueKind | undefined;
}

const HELP_FLAG: CompletedFlag = { name: "help", help: "Show the help.", value: { kind: "none" } };

/** Lists the program and everything below it, each group before its commands. */
export async function commandTree(
  group: CommandGroup,
  path: readonly string[] = [],
): Promise<CompletedCommand[]> {
  const words = Object.entries(group.commands).map(([word, { summary }]) => ({ word, summary }));
  const version = { name: "version", help: "Show the version.", value: { kind: "none" } } as const;
  const flags = path.length === 0 ? [HELP_FLAG, version] : [HELP_FLAG];
  const found: CompletedCommand[] = [{ path, summary: group.summary, words, flags, argument: undefined }];
  for (const [word, entry] of Object.entries(group.commands)) {
    const below = [...path, word];
    if ("commands" in entry) found.push(...(await commandTree(entry, below)));
    else found.push(await completedCommand(entry, below));
  }
  return found;
}

async function completedCommand(
  { summary, load }: CommandEntry,
  path: readonly string[],
): Promise<CompletedCommand> {
  const settings = Object.values((await load()).settings);
  const flags = settings.flatMap((setting) =>
    setting.flag === undefined
      ? []
      : [{ name: setting.flag, help: firstSentence(setting.help), value: valueKindOf(setting) }],
  );
  const positional = settings.find((setting) => setting.positional);
  return {
    path,
    summary,
    words: [],
    flags: [...flags, HELP_FLAG],
    argument: positional && valueKindOf(positional),
  };
}

const VALUE_KINDS: Readonly<Record<string, ValueKind>> = {
  FILE: { kind: "file" },
  PATH: { kind: "file" },
  FOLDER: { kind: "folder" },
};

function valueKindOf(setting: Setting<unknown>): ValueKind {
  const { placeholder } = setting;
  if (placeholder === undefined) return { kind: "none" };
  const form = formOf(setting);
  if (form.kind === "text" && form.choices) return { kind: "choice", choices: form.choices };
  return VALUE_KINDS[placeholder] ?? { kind: "text" };
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) (?=[A-Z])/, 1)[0] ?? text;
}
