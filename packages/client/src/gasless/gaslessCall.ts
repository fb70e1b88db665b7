/** A call that a user makes. */
export interface GaslessCall {
  readonly to: string;
  /** 0x hex. */
  readonly data: string;
  /** The value in wei. */
  readonly value: bigint;
  /** The gas limit, in gas; estimated if absent. */
  readonly gas?: bigint | undefined;
  /** The sender's nonce; the lowest free one if absent. */
  readonly nonce?: number | undefined;
  /** The chain for which the caller means the call; it must be the sender's. */
  readonly chainId?: number | undefined;
  /** The payment's name; one is never signed twice. */
  readonly idempotencyKey?: string | undefined;
}

/** The content of a payment. Two calls of one name must have the same. */
export interface PaidCall extends Pick<GaslessCall, "data" | "value"> {
  readonly from: string;
  readonly to: string | null;
}

export function isSamePayment(one: PaidCall, other: PaidCall): boolean {
  const textOf = ({ from, to, data }: PaidCall) => `${from} ${to} ${data}`.toLowerCase();
  return textOf(one) === textOf(other) && one.value === other.value;
}

/** A legacy transaction of gas price 0, to be signed with its chain id (EIP-155). */
export interface GaslessTransaction extends GaslessCall {
  readonly chainId: number;
  readonly gas: bigint;
  readonly nonce: number;
}

/** The sender and the chain, as the adapters for viem and ethers give them. */
export interface GaslessSender {
  readonly address: string;
  chainId(): Promise<number>;
  /** Reads the sender's transaction count, those in the node's pool included. */
  transactionCount(): Promise<number>;
  /** Estimates the gas of a call from the sender at gas price 0. */
  estimateGas(call: GaslessCall): Promise<bigint>;
  /** Reads a transaction from the node, if that has it. */
  transactionOf(txHash: string): Promise<PaidCall | null>;
  /** Signs, and returns the signed bytes as 0x hex. */
  sign(transaction: GaslessTransaction): Promise<string>;
}

/** A transaction that a node of the chain has. */
export interface SentTransaction {
  /** The submission's id, for `status` and `wait`. */
  readonly id: string;
  readonly txHash: string;
  /** The signed bytes as 0x hex; absent where another call of the same name has paid. */
  readonly signed?: string;
}
