import type {
  Abi,
  Account,
  Address,
  Chain,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionParameters,
  Hex,
  TransactionSerializableLegacy,
} from "viem";

/** The options of all actions that make a transaction. */
interface Overrides {
  /** A local account, as `privateKeyToAccount` returns it; the client's own by default. */
  readonly account?: Account | Address | null | undefined;
  /** The gas limit, in gas; by default the node's estimate at gas price 0, and a fifth on top. */
  readonly gas?: bigint | undefined;
  /** The sender's nonce; the next one by default. Calls made at the same time get consecutive ones. */
  readonly nonce?: number | undefined;
  /** The chain for which the call is meant: another one than the client's is refused. */
  readonly chain?: Chain | null | undefined;
  /** Appended to the data; the client's own by default. */
  readonly dataSuffix?: Hex | undefined;
}

/** Options of the actions that send. */
export interface Payment {
  /**
   * Names the payment: a call that is repeated with the same name within the service's retention (a day by default) pays once, and
   * returns the first payment's hash. Another call with the name is refused. 1 to 255 visible ASCII characters.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The parameters of `sendGaslessTransaction`. */
export interface SendGaslessTransactionParameters extends Overrides {
  readonly to: Address;
  readonly data?: Hex | undefined;
  /** The value in wei. */
  readonly value?: bigint | undefined;
}

export type Changing = "nonpayable" | "payable";

/** The parameters of `writeGaslessContract`: those of viem's `writeContract` without fees. */
export type WriteGaslessContractParameters<
  abi extends Abi | readonly unknown[] = Abi,
  functionName extends ContractFunctionName<abi, Changing> = ContractFunctionName<abi, Changing>,
  args extends ContractFunctionArgs<abi, Changing, functionName> = ContractFunctionArgs<
    abi,
    Changing,
    functionName
  >,
> = ContractFunctionParameters<abi, Changing, functionName, args> &
  Overrides & {
    /** The value in wei. */
    readonly value?: bigint | undefined;
  };

/** A transaction of gas price 0 before its signature, as viem's `signTransaction` takes it. */
export type PreparedGaslessTransaction = TransactionSerializableLegacy & {
  readonly type: "legacy";
  readonly chainId: number;
  readonly nonce: number;
  readonly gas: bigint;
};
