import type { Terminal } from "../command.js";
import { wrapped } from "../settings/wrapped.js";
/** The meaning of a cell, which a terminal shows as a colour. */
export type Tone = "good" | "bad" | "plain";

export interface Cell {
  readonly text: string;
  readonly tone: Tone;
}

export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** The text may be cut in its middle where the terminal is too narrow: hashes and addresses are still told apart. */
  readonly shortens?: boolean;
}

const GAP = "  ";
/** A hash or an address with its first and last four digits. */
const SHORTEST = 11;
/** The last column wraps, and has at least this width. */
const LEAST_LAST = 24;
export const COLORS: Readonly<Record<Tone, string>> = { good: "\x1b[32m", bad: "\x1b[31m", plain: "" };

/**
 * Lays out rows under the titles of their columns. The text of the last column wraps. Without a terminal nothing is cut or
 * wrapped, and there are no colours.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  terminal?: Terminal,
): string[] {
  const cells = rows.map((row) => row.map(asCell));
  const natural = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((row) => row[i]?.text.length ?? 0)),
  );
  const widths = terminal ? fittingWidths(columns, natural, terminal.columns) : natural;
  const line = (row: readonly Cell[]) => rowLines(row, columns, widths, terminal);
  return [columns.map(({ title }) => asCell(title)), ...cells].flatMap(line);
}

function asCell(cell: Cell | string): Cell {
  return typeof cell === "string" ? { text: cell, tone: "plain" } : cell;
}

/** Shortens columns from the left until the last one has its least width; that one takes what is left. */
function fittingWidths(columns: readonly Column[], natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  const last = widths.length - 1;
  const taken = () => widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const missing = () => taken() + Math.min(natural[last] ?? 0, LEAST_LAST) - room;
  for (const [i, { shortens, title }] of columns.entries()) {
    const width = widths[i] ?? 0;
    if (i === last || !shortens || missing() <= 0) continue;
    widths[i] = Math.max(Math.min(width, SHORTEST), title.length, width - missing());
  }
  widths[last] = Math.max(LEAST_LAST, room - taken());
  return widths;
}

function rowLines(
  row: readonly Cell[],
  columns: readonly Column[],
  widths: readonly number[],
  terminal: Terminal | undefined,
): string[] {
  const last = columns.length - 1;
  const start = row.slice(0, last).map((cell, i) => {
    const text = shortened(cell.text, widths[i] ?? 0);
    const padding = " ".repeat(Math.max(0, (widths[i] ?? 0) - text.length));
    const shown = painted({ ...cell, text }, terminal);
    return columns[i]?.isNumber ? padding + shown : shown + padding;
  });
  const margin = " ".repeat(widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0));
  const final = row[last] ?? asCell("");
  const width = widths[last] ?? 0;
  const [first = "", ...others] = terminal ? wrapped(final.text, width, width) : [final.text];
  const begin = [...start, painted({ ...final, text: first }, terminal)].join(GAP);
  return [begin, ...others.map((text) => margin + painted({ ...final, text }, terminal))].map((text) =>
    text.trimEnd(),
  );
}

function painted({ text, tone }: Cell, terminal: Terminal | undefined): string {
  if (!terminal?.hasColors || tone === "plain" || text === "") return text;
  return `${COLORS[tone]}${text}\x1b[0m`;
}

function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}
