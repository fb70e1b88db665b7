import { type AnySubmissionRecord, type CallFailure, callFailureOf, type Hex } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient, JsonRpcError, type Receipt } from "../jsonRpcClient.js";
import { type DecodedTransaction, describeTransaction, type NodeTransaction } from "./decodedTransaction.js";

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
  /** The sender's next nonce by the latest block, and balance in wei. */
  readonly sender?: { readonly nextNonce: string; readonly balance: string };
  /** The contract has code. */
  readonly targetHasCode?: boolean | undefined;
  readonly place?: Place;
  readonly blockNumber?: string;
  readonly reverted?: boolean;
  readonly gasUsed?: string;
  /** The calls of a reverted transaction, where the node traces. */
  readonly trace?: TraceFrame;
  /** Why it reverted, by the trace or by a call on the block before. */
  readonly failure?: CallFailure | undefined;
  readonly wrapper?: { readonly hash: string; readonly place: Place };
}

/** Where the node has a transaction. */
type Place = "in a block" | "in the pool" | "unknown";

/** Asks the node for all that concerns the transaction. Only reads are sent. */
export class NodeReader {
  readonly #url: string;
  readonly #rpc: JsonRpcClient;

  constructor(url: string, signal: AbortSignal) {
    this.#url = new URL(url).host;
    this.#rpc = new JsonRpcClient(url, signal);
  }

  /** Returns the transaction; undefined where the node does not know it, or gives no answer. */
  async transaction(hash: string): Promise<DecodedTransaction | undefined> {
    // The facts tell why there is no answer.
    const found = await this.#find(hash).catch(() => undefined);
    return found ? describeTransaction(found) : undefined;
  }

  /** @param record the service's record: a node does not know the sender of what was never sent to it. */
  async facts(
    hash: string | undefined,
    transaction: DecodedTransaction | undefined,
    record: AnySubmissionRecord | undefined,
  ): Promise<NodeFacts> {
    const sender = transaction?.from ?? record?.sender;
    const wrapper = record && "wrapperHash" in record ? record.wrapperHash : undefined;
    try {
      return {
        url: this.#url,
        chainId: await this.#decimal("eth_chainId"),
        head: await this.#decimal("eth_blockNumber"),
        ...(sender !== undefined && {
          sender: {
            nextNonce: await this.#decimal("eth_getTransactionCount", sender, "latest"),
            balance: await this.#decimal("eth_getBalance", sender, "latest"),
          },
        }),
        targetHasCode:
          transaction?.to && (await this.#rpc.request("eth_getCode", [transaction.to, "latest"])) !== "0x",
        ...(hash !== undefined && (await this.#outcome(hash, transaction))),
        ...(wrapper && { wrapper: { hash: wrapper, place: await this.#placeOf(wrapper) } }),
      };
    } catch (error) {
      if (!(error instanceof CommandFailedError)) throw error;
      return { url: this.#url, trouble: error.message };
    }
  }

  async #outcome(hash: string, transaction: DecodedTransaction | undefined): Promise<Partial<NodeFacts>> {
    const receipt = await this.#optional<Receipt>("eth_getTransactionReceipt", hash);
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
  async #cause(hash: string, block: bigint, tx: DecodedTransaction | undefined): Promise<Partial<NodeFacts>> {
    const trace = await this.#optional<TraceFrame>("debug_traceTransaction", hash, { tracer: "callTracer" });
    if (trace?.error !== undefined)
      return { trace, failure: callFailureOf({ message: trace.error, data: trace.output }) };
    if (tx?.to === undefined) return {};
    const { from, to, data } = tx;
    const [value, gas, before] = [tx.value, tx.gasLimit, block - 1n].map(
      (n) => `0x${BigInt(n).toString(16)}`,
    );
    try {
      await this.#rpc.request("eth_call", [{ from, to, data, value, gas, gasPrice: "0x0" }, before]);
      return {};
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error;
      return { failure: callFailureOf({ message: error.message, data: error.revert }) };
    }
  }

  async #placeOf(hash: string): Promise<Place> {
    const found = await this.#find(hash);
    if (!found) return "unknown";
    return found.blockNumber === null ? "in the pool" : "in a block";
  }

  #find(hash: string) {
    return this.#optional<NodeTransaction & { readonly blockNumber: Hex | null }>(
      "eth_getTransactionByHash",
      hash,
    );
  }

  async #decimal(method: string, ...params: readonly unknown[]): Promise<string> {
    return (await this.#rpc.quantity(method, params)).toString();
  }

  /** The answer; null or undefined where the node has none, or refuses the call. */
  async #optional<T>(method: string, ...params: readonly unknown[]): Promise<T | null | undefined> {
    try {
      return await this.#rpc.request<T | null>(method, params);
    } catch (error) {
      if (error instanceof JsonRpcError) return undefined;
      throw error;
    }
  }
}
