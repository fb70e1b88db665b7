import type { Outcome } from "../evm/executor.js";
import type { ChainTransaction } from "./transaction.js";

/** The part that a transaction has in its block. A wrapper stands directly before its inner transaction (D10). */
export type TransactionRole = "ordinary" | "wrapper" | "inner";

/** The result of a transaction in its block. */
export interface TransactionReceipt extends Omit<Outcome, "returnData"> {
  readonly cumulativeGasUsed: bigint;
  /** The price of a unit of gas, in wei. */
  readonly effectiveGasPrice: bigint;
  /** The index in the block of the first log. */
  readonly firstLogIndex: number;
  readonly bloom: Uint8Array;
}

/** A transaction in a block. */
export interface IncludedTransaction {
  readonly tx: ChainTransaction;
  readonly role: TransactionRole;
  readonly receipt: TransactionReceipt;
}
