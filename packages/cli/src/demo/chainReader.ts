import type { Hex } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";

export interface Receipt {
  readonly transactionHash: Hex;
  readonly from: Hex;
  readonly status: Hex;
  readonly blockNumber: Hex;
  readonly transactionIndex: Hex;
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
}

/** The few things that the demonstration reads of the chain, over JSON-RPC as anybody would. */
export class ChainReader {
  readonly #url: string;
  readonly #signal: AbortSignal;

  constructor(url: string, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  /** In wei. */
  async balanceOf(address: Hex): Promise<bigint> {
    return BigInt(await this.#call<Hex>("eth_getBalance", [address, "latest"]));
  }

  async nonceOf(address: Hex): Promise<bigint> {
    return BigInt(await this.#call<Hex>("eth_getTransactionCount", [address, "latest"]));
  }

  /** In the token's smallest unit. */
  async tokensOf(token: Hex, owner: Hex): Promise<bigint> {
    const data = `0x70a08231${owner.slice(2).toLowerCase().padStart(64, "0")}`; // balanceOf(address)
    return BigInt(await this.#call<Hex>("eth_call", [{ to: token, data }, "latest"]));
  }

  async receiptOf(hash: Hex): Promise<Receipt> {
    const receipt = await this.#call<Receipt | null>("eth_getTransactionReceipt", [hash]);
    if (receipt === null) throw new DemoFailedError(`the chain has no receipt of transaction ${hash}`);
    return receipt;
  }

  /** The wrapper lies in the block directly before the transaction that it carried. */
  async wrapperOf({ blockNumber, transactionIndex, transactionHash }: Receipt): Promise<Receipt> {
    const block = await this.#call<{ transactions: Hex[] }>("eth_getBlockByNumber", [blockNumber, false]);
    const hash = block.transactions[Number(transactionIndex) - 1];
    if (hash === undefined)
      throw new DemoFailedError(`transaction ${transactionHash} has no wrapper before it`);
    return this.receiptOf(hash);
  }

  async #call<Result>(method: string, params: readonly unknown[]): Promise<Result> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: this.#signal,
    });
    const { result, error } = (await response.json()) as { result: Result; error?: { message: string } };
    if (error) throw new DemoFailedError(`the chain refused ${method}: ${error.message}`);
    return result;
  }
}

/** The demonstration did not come out as it should; the message says what happened instead. */
export class DemoFailedError extends CommandFailedError {
  override readonly name = "DemoFailedError";
}
