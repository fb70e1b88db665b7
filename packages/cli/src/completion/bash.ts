import type { CompletedCommand, ValueKind } from "./commandTree.js";

/** Renders the completion for bash, from version 3.2 on, which has neither `mapfile` nor `compopt`. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(" ")}"`);
  return `# bash completion for gas-waiver
_gas_waiver() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" word i IFS=$'\\n'
  # bash takes the = of --flag=value for a word of its own.
  if [[ $cur == "=" ]]; then cur=""
  elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${path:+$path }\${COMP_WORDS[i]}"
    case "$word" in
      ${paths.join("|")}) path="$word" ;;
      *) break ;;
    esac
  done
  case "$path" in
${commands.map(caseOf).join("\n")}
  esac
}
_gas_waiver_words() { COMPREPLY=($(compgen -W "$1" -- "$2")); }
_gas_waiver_files() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$1")); }
_gas_waiver_folders() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$1")); }
complete -F _gas_waiver gas-waiver
`;
}

function caseOf({ path, words, flags, argument }: CompletedCommand): string {
  const values = flags.flatMap(({ name, value }) =>
    value.kind === "none" ? [] : [`        --${name}) ${completed(value)} return ;;`],
  );
  const names = [...words.map(({ word }) => word), ...flags.map(({ name }) => `--${name}`)];
  const all = `_gas_waiver_words ${wordList(names)} "$cur"`;
  const isFree = argument !== undefined && argument.kind !== "text";
  return [
    `    "${path.join(" ")}")`,
    ...(values.length > 0 ? ['      case "$prev" in', ...values, "      esac"] : []),
    isFree ? `      if [[ $cur == -* ]]; then ${all}; else ${completed(argument)} fi ;;` : `      ${all} ;;`,
  ].join("\n");
}

function completed(value: ValueKind): string {
  if (value.kind === "choice") return `_gas_waiver_words ${wordList(value.choices)} "$cur";`;
  if (value.kind === "file") return '_gas_waiver_files "$cur";';
  return value.kind === "folder" ? '_gas_waiver_folders "$cur";' : "";
}

/** One word a line, since names have no line ends, and `IFS` is one. */
function wordList(words: readonly string[]): string {
  return `$'${words.join("\\n")}'`;
}
