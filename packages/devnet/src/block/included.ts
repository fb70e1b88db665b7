import type { Log } from "../evm/executor.js";
import type { ChainTransaction } from "./transaction.js";

/** D10: a wrapper stands directly before its inner, and both are transactions of the block. */
export type Role = "ordinary" | "wrapper" | "inner";

export interface Receipt {
  readonly status: 0 | 1;
  readonly gasUsed: bigint;
  readonly cumulativeGasUsed: bigint;
  /** In wei. */
  readonly effectiveGasPrice: bigint;
  readonly logs: readonly Log[];
  /** Place of the first log among the block's. */
  readonly firstLogIndex: number;
  readonly bloom: Uint8Array;
  /** 20 bytes, where a contract was created. */
  readonly created: Uint8Array | undefined;
  /** What stopped it when status is 0. */
  readonly failure: string | undefined;
}

export interface Included {
  readonly tx: ChainTransaction;
  readonly role: Role;
  readonly receipt: Receipt;
}
