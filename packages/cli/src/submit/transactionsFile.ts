import { readText } from "../settings/readText.js";
import { InvalidValueError } from "../settings/setting.js";

const STANDARD_INPUT = "-";

/** The signed transactions of `gas-waiver submit`, and the file that they come from. */
export interface TransactionsFile {
  /** Undefined for standard input. */
  readonly path: string | undefined;
  readonly transactions: readonly string[];
}

/** Parses the path of a file of signed transactions, `-` for standard input: one a line as 0x hex; `#` begins a comment. */
export function transactionsFile(path: string): TransactionsFile {
  const isInput = path === STANDARD_INPUT;
  const transactions = readText(isInput ? 0 : path)
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, "").trim())
    .map((text, i) => ({ text, line: i + 1 }))
    .filter(({ text }) => text !== "");
  const wrong = transactions.find(({ text }) => !/^0x(?:[0-9a-f]{2})+$/i.test(text));
  if (wrong) throw new InvalidValueError(`has no transaction as 0x hex in line ${wrong.line}`);
  if (transactions.length === 0) throw new InvalidValueError("has no transactions");
  return { path: isInput ? undefined : path, transactions: transactions.map(({ text }) => text) };
}
