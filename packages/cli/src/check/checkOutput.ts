import type { CheckLine } from "@gas-waiver/client";
import { hashOf } from "@gas-waiver/client/self-hosted";
import type { Terminal } from "../command.js";
import { type Cell, tableLines } from "../output/table.js";

const COLUMNS = [
  { title: "#", isNumber: true },
  { title: "transaction", shortens: true },
  { title: "answer" },
  { title: "why" },
];

/**
 * The lines of a check as a table for a person.
 * @param transactions the signed bytes as 0x hex, in the order of the lines.
 */
export function checkLines(
  lines: readonly CheckLine[],
  transactions: readonly string[],
  terminal: Terminal | undefined,
): string[] {
  const rows = lines.map((line) => {
    const hash = hashOf(transactions[line.index] ?? "0x");
    return [String(line.index + 1), hash, answerOf(line), reasonOf(line)];
  });
  return tableLines(COLUMNS, rows, terminal);
}

function answerOf(line: CheckLine): Cell {
  if (!line.success) return { text: "refused", tone: "bad" };
  if (line.simulation?.success === false) return { text: "taken, reverts", tone: "bad" };
  return { text: "taken", tone: "good" };
}

function reasonOf(line: CheckLine): string {
  if (!line.success) return `${line.error.reason ?? line.error.code}: ${line.error.message}`;
  if (line.simulation === undefined) return "";
  return line.simulation.success
    ? "the call succeeds"
    : `${line.simulation.kind}: ${line.simulation.message}`;
}

/** One sentence for all lines. @param total the transactions, of which some have no line where the check broke off. */
export function checkSummary(lines: readonly CheckLine[], total: number): string {
  const taken = lines.filter(({ success }) => success).length;
  const unchecked = total - lines.length;
  const rest = unchecked > 0 ? `; not checked: ${unchecked}` : "";
  return `${taken} of ${lines.length} transaction(s) would be taken${rest}`;
}
