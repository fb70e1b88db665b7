import type { CompletedCommand, CompletedFlag, ValueKind } from "./commandTree.js";

/** Renders the completion for zsh. It works from a folder of `fpath`, and where it is sourced. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => `"${path.join(" ")}"`);
  return `#compdef gas-waiver
# zsh completion for gas-waiver
_gas_waiver() {
  local cmd="" word i depth=1
  local -a subcommands
  for ((i = 2; i < CURRENT; i++)); do
    word="\${cmd:+$cmd }\${words[i]}"
    case "$word" in
      (${paths.join("|")}) cmd="$word"; depth=$i ;;
      (*) break ;;
    esac
  done
  words=("gas-waiver" "\${(@)words[depth+1,-1]}")
  ((CURRENT = CURRENT - depth + 1))
  case "$cmd" in
${commands.map(caseOf).join("\n")}
  esac
}
if [[ $funcstack[1] == _gas_waiver ]]; then _gas_waiver "$@"; else compdef _gas_waiver gas-waiver; fi
`;
}

function caseOf({ path, words, flags, argument }: CompletedCommand): string {
  const specs = flags.map((flag) => quoted(specOf(flag)));
  if (words.length > 0) {
    const entries = words.map(({ word, summary }) => `        ${quoted(`${word}:${summary}`)}`);
    return [
      `    ("${path.join(" ")}")`,
      "      subcommands=(",
      ...entries,
      "      )",
      `      if [[ $words[CURRENT] == -* ]]; then _arguments ${specs.join(" ")}`,
      "      else _describe -t commands command subcommands; fi ;;",
    ].join("\n");
  }
  if (argument !== undefined) specs.push(quoted(`*:argument:${actionOf(argument)}`));
  const lines = [`    ("${path.join(" ")}") _arguments`, ...specs];
  return `${lines.join(" \\\n      ")} ;;`;
}

/** A flag as `_arguments` takes it. A flag may come several times, so that lists can be given in parts. */
function specOf({ name, help, value }: CompletedFlag): string {
  const text = help.replaceAll(/[[\]:\\]/g, "\\$&");
  if (value.kind === "none") return `--${name}[${text}]`;
  return `*--${name}=[${text}]:value:${actionOf(value)}`;
}

function actionOf(value: ValueKind): string {
  if (value.kind === "choice") return `(${value.choices.join(" ")})`;
  if (value.kind === "file") return "_files";
  return value.kind === "folder" ? "_files -/" : " ";
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
