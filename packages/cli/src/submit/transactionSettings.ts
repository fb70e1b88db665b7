import { entriesOf } from "../settings/parsers.js";
import { readText } from "../settings/readText.js";
import { InvalidValueError, type Values } from "../settings/setting.js";

export const TRANSACTION = "the signed transaction";

/** The signed transactions of a command: its arguments, or a file. */
export const TRANSACTION_SETTINGS = {
  given: {
    positional: true,
    repeatable: true,
    placeholder: "TRANSACTION",
    subject: TRANSACTION,
    help: "A signed transaction as 0x hex; several may follow.",
    parse: signedTransactions,
  },
  transactions: {
    placeholder: "FILE",
    subject: TRANSACTION,
    help: "File of signed transactions as 0x hex, one a line; `#` begins a comment. `-` is standard input.",
    parse: transactionsFile,
  },
} as const;

export function transactionsOf({
  given,
  transactions,
}: Values<typeof TRANSACTION_SETTINGS>): readonly string[] {
  return given ?? transactions?.transactions ?? [];
}

function signedTransactions(list: string): string[] {
  const entries = entriesOf(list);
  const wrong = entries.findIndex((entry) => !/^0x(?:[0-9a-f]{2})+$/i.test(entry));
  if (wrong >= 0) throw new InvalidValueError(`has no transaction as 0x hex at position ${wrong + 1}`);
  return entries;
}

const STANDARD_INPUT = "-";

/** The signed transactions of `gas-waiver submit`, and the file that they come from. */
interface TransactionsFile {
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
