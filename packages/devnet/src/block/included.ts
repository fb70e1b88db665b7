import type { Log } from "../evm/executor.js";
import type { ChainTransaction } from "./transaction.js";

/** The part that a transaction has in its block. A wrapper stands directly before its inner transaction (D10). */
export type TransactionRole = "ordinary" | "wrapper" | "inner";

/** The result of a transaction in its block. */
export interface TransactionReceipt {
  readonly status: 0 | 1;
  readonly gasUsed: bigint;
  readonly cumulativeGasUsed: bigint;
  /** The price of a unit of gas, in wei. */
  readonly effectiveGasPrice: bigint;
  readonly logs: readonly Log[];
  /** The index in the block of the first log. */
  readonly firstLogIndex: number;
  readonly bloom: Uint8Array;
  /** The 20-byte address of the contract that the transaction created. */
  readonly created: Uint8Array | undefined;
  /** The EVM's error message if status is 0. */
  readonly failure: string | undefined;
}

/** A transaction in a block. */
export interface IncludedTransaction {
  readonly tx: ChainTransaction;
  readonly role: TransactionRole;
  readonly receipt: TransactionReceipt;
}
