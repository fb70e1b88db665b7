import type { CompletedCommand, CompletedFlag } from "./commandTree.js";

/** Renders the completion for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(" ")));
  return `# fish completion for gas-waiver
function __gas_waiver_at -d 'True where these words are the command so far'
    set -l path
    for token in (commandline -opc)[2..-1]
        set -l longer (string join -- ' ' $path $token)
        contains -- $longer ${paths.join(" ")}
        or break
        set path $longer
    end
    test "$path" = "$argv"
end
complete -c gas-waiver -f
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, words, flags, argument }: CompletedCommand): string[] {
  const start = `complete -c gas-waiver -n ${quoted(`__gas_waiver_at ${path.join(" ")}`.trim())}`;
  const takesFiles = argument?.kind === "file" || argument?.kind === "folder";
  return [
    ...words.map(({ word, summary }) => `${start} -a ${word} -d ${quoted(summary)}`),
    ...flags.map((flag) => `${start} ${flagOf(flag)}`),
    ...(argument?.kind === "choice" ? [`${start} -a ${quoted(argument.choices.join(" "))}`] : []),
    ...(takesFiles ? [`${start} -F`] : []),
  ];
}

function flagOf({ name, help, value }: CompletedFlag): string {
  const start = `-l ${name} -d ${quoted(help)}`;
  if (value.kind === "none") return start;
  if (value.kind === "choice") return `${start} -x -a ${quoted(value.choices.join(" "))}`;
  if (value.kind === "folder") return `${start} -x -a '(__fish_complete_directories)'`;
  return value.kind === "file" ? `${start} -r -F` : `${start} -x`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
