import { RELOADABLE, type Setting, type Settings } from "./setting.js";
import { wrapped } from "./wrapped.js";

const FLAG_COLUMN = 30;
const LINE_WIDTH = 100;

/** The settings as lines of the help: the flags, then the variables that have no flag. */
export function settingsHelp(settings: Settings): string {
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
