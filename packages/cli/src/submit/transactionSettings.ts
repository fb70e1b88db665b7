import { entriesOf } from "../settings/parsers.js";
import { InvalidValueError, type Values } from "../settings/setting.js";
import { transactionsFile } from "./transactionsFile.js";

/** The signed transactions of a command: its arguments, or a file. */
export const TRANSACTION_SETTINGS = {
  given: {
    positional: true,
    repeatable: true,
    placeholder: "TRANSACTION",
    help: "A signed transaction as 0x hex; several may follow.",
    parse: signedTransactions,
  },
  transactions: {
    placeholder: "FILE",
    help: "File of signed transactions as 0x hex, one a line; `#` begins a comment. `-` is standard input.",
    parse: transactionsFile,
  },
} as const;

export const TRANSACTION_ALTERNATIVES = {
  keys: ["given", "transactions"],
  subject: "the signed transaction",
  required: true,
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
