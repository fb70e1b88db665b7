import { InvalidArgumentError } from "../errors.js";

/**
 * Asserts that the transactions are a list. Types do not hold for programs in JavaScript, where one transaction in place of a
 * list would be sent letter by letter.
 * @throws InvalidArgumentError
 */
export function assertTransactionList(transactions: unknown): void {
  if (!Array.isArray(transactions))
    throw new InvalidArgumentError("transactions is not a list: pass [signedTransaction]");
}
