import { type CallFailure, callFailureOf, type Hex } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient, JsonRpcError, type Receipt } from "../jsonRpcClient.js";
import {
  type DecodedTransaction,
  decodeNodeTransaction,
  type NodeTransaction,
} from "./decodedTransaction.js";

/** A call of a trace, as the callTracer of a node gives it. */
export interface TraceFrame {
  readonly type: string;
  readonly from: string;
  readonly to?: string;
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
  readonly gasUsed?: string;
  readonly calls?: readonly TraceFrame[];
}

export interface NodeFacts {
  readonly url: string;
  readonly trouble?: string;
  readonly chainId?: string;
  readonly head?: string;
  readonly sender?: {
    /** The next nonce by the latest block. */
    readonly nextNonce: string;
    /** In wei. */
    readonly balance: string;
  };
  /** The contract has code. */
  readonly targetHasCode?: boolean;
  /** The transaction's block, or where else the node has it. */
  readonly place?: "in a block" | "in the pool" | "unknown";
  readonly blockNumber?: string;
  readonly reverted?: boolean;
  readonly gasUsed?: string;
  /** The calls of a reverted transaction, where the node traces. */
  readonly trace?: TraceFrame;
  /** Why it reverted, by the trace or by a call on the block before. */
  readonly failure?: CallFailure;
  readonly wrapper?: { readonly hash: Hex; readonly place: "in a block" | "in the pool" | "unknown" };
}

/** The names under which a node may know something of the transaction. */
export interface NodeQuestion {
  readonly hash: string | undefined;
  readonly transaction: DecodedTransaction | undefined;
  readonly wrapperHash: string | undefined;
  /** The sender by the transaction or by the service's record: a node does not know what was never sent to it. */
  readonly sender: string | undefined;
}

/** Asks the node for all that concerns the transaction. Only reads are sent. */
export class NodeReader {
  readonly #url: string;
  readonly #rpc: JsonRpcClient;

  constructor(url: string, signal: AbortSignal) {
    this.#url = url;
    this.#rpc = new JsonRpcClient(url, signal);
  }

  /** Returns the transaction; undefined where the node does not know it, or gives no answer. */
  async transaction(hash: string): Promise<DecodedTransaction | undefined> {
    const found = await this.#optional<NodeTransaction | null>("eth_getTransactionByHash", [hash]);
    return found ? decodeNodeTransaction(found) : undefined;
  }

  async facts({ hash, transaction, wrapperHash, sender }: NodeQuestion): Promise<NodeFacts> {
    const url = new URL(this.#url).host;
    try {
      return {
        url,
        chainId: (await this.#rpc.quantity("eth_chainId")).toString(),
        head: (await this.#rpc.quantity("eth_blockNumber")).toString(),
        ...(sender !== undefined && { sender: await this.#sender(sender) }),
        ...(transaction?.to && { targetHasCode: await this.#hasCode(transaction.to) }),
        ...(hash !== undefined && (await this.#outcome(hash, transaction))),
        ...(wrapperHash !== undefined && {
          wrapper: { hash: wrapperHash as Hex, place: await this.#placeOf(wrapperHash) },
        }),
      };
    } catch (error) {
      if (!(error instanceof CommandFailedError)) throw error;
      return { url, trouble: error.message };
    }
  }

  async #sender(address: string) {
    const nextNonce = await this.#rpc.quantity("eth_getTransactionCount", [address, "latest"]);
    const balance = await this.#rpc.quantity("eth_getBalance", [address, "latest"]);
    return { nextNonce: nextNonce.toString(), balance: balance.toString() };
  }

  async #hasCode(address: string): Promise<boolean> {
    return (await this.#rpc.request<Hex>("eth_getCode", [address, "latest"])) !== "0x";
  }

  async #placeOf(hash: string): Promise<"in a block" | "in the pool" | "unknown"> {
    const found = await this.#optional<NodeTransaction | null>("eth_getTransactionByHash", [hash]);
    if (!found) return "unknown";
    return found.blockNumber === null ? "in the pool" : "in a block";
  }

  async #outcome(hash: string, transaction: DecodedTransaction | undefined): Promise<Partial<NodeFacts>> {
    const receipt = await this.#optional<Receipt | null>("eth_getTransactionReceipt", [hash]);
    if (!receipt) return { place: await this.#placeOf(hash) };
    const reverted = BigInt(receipt.status) === 0n;
    const block = BigInt(receipt.blockNumber);
    return {
      place: "in a block",
      blockNumber: block.toString(),
      gasUsed: BigInt(receipt.gasUsed).toString(),
      reverted,
      ...(reverted && (await this.#cause(hash, block, transaction))),
    };
  }

  /** The trace of a reverted transaction, and why it failed; or the failure alone, by a call on the block before. */
  async #cause(
    hash: string,
    block: bigint,
    transaction: DecodedTransaction | undefined,
  ): Promise<Partial<NodeFacts>> {
    const trace = await this.#optional<TraceFrame>("debug_traceTransaction", [
      hash,
      { tracer: "callTracer" },
    ]);
    if (trace?.error !== undefined) {
      const failure = callFailureOf({ message: trace.error, data: trace.output });
      return { trace, ...(failure && { failure }) };
    }
    if (transaction?.to === undefined) return {};
    const { from, to, data, value, gasLimit } = transaction;
    const quantity = (decimal: string) => `0x${BigInt(decimal).toString(16)}`;
    const call = { from, to, data, value: quantity(value), gas: quantity(gasLimit), gasPrice: "0x0" };
    const failure = await this.#failureOf([call, quantity((block - 1n).toString())]);
    return failure ? { failure } : {};
  }

  async #failureOf(params: readonly unknown[]): Promise<CallFailure | undefined> {
    try {
      await this.#rpc.request("eth_call", params);
      return undefined;
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error;
      return callFailureOf({ message: error.message, data: error.revert });
    }
  }

  /** The answer; undefined where the node refuses the call. */
  async #optional<T>(method: string, params: readonly unknown[]): Promise<T | undefined> {
    try {
      return await this.#rpc.request<T>(method, params);
    } catch (error) {
      if (error instanceof JsonRpcError) return undefined;
      throw error;
    }
  }
}
