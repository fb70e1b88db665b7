import { type Command, type CommandGroup, defineCommand } from "../command.js";
import { bashCompletion } from "../completion/bash.js";
import { commandTree } from "../completion/commandTree.js";
import { fishCompletion } from "../completion/fish.js";
import { zshCompletion } from "../completion/zsh.js";
import { oneOf } from "../settings/parsers.js";

const RENDERERS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

const SETTINGS = {
  shell: {
    positional: true,
    placeholder: "SHELL",
    help: "The shell: bash, zsh or fish.",
    required: true,
    parse: oneOf("bash", "zsh", "fish"),
  },
  json: { help: "Print the commands with their flags as JSON, for another shell or an editor." },
} as const;

/** The command that completes the commands of a program. */
export function completionOf(program: CommandGroup): Command {
  return defineCommand({
    description:
      "The script completes commands, flags, fixed values, files and folders. It is of this version: write it again after an\n" +
      "upgrade. For zsh, the folder must be in fpath before compinit runs.",
    examples: [
      "source <(gas-waiver completion bash)                                 # in ~/.bashrc",
      `gas-waiver completion zsh >"\${fpath[1]}/_gas-waiver"`,
      "gas-waiver completion fish >~/.config/fish/completions/gas-waiver.fish",
    ],
    settings: SETTINGS,
    async run({ shell, json }, { write }) {
      const commands = await commandTree(program);
      await write(json ? `${JSON.stringify(commands)}\n` : RENDERERS[shell](commands));
    },
  });
}
