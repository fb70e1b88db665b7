import { encodeCall, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient, type Receipt } from "../jsonRpcClient.js";

/** Reads balances, nonces and receipts of the chain for the demonstration. */
export class ChainReader {
  readonly #node: JsonRpcClient;

  constructor(rpcUrl: string, signal: AbortSignal) {
    this.#node = new JsonRpcClient(rpcUrl, signal);
  }

  /** The balance in wei. */
  balanceOf(address: Hex): Promise<bigint> {
    return this.#node.quantity("eth_getBalance", [address, "latest"]);
  }

  nonceOf(address: Hex): Promise<bigint> {
    return this.#node.quantity("eth_getTransactionCount", [address, "latest"]);
  }

  /** The balance in the token's smallest unit. */
  async tokenBalanceOf(token: Hex, owner: Hex): Promise<bigint> {
    const data = encodeCall("balanceOf(address)", hexToBytes(owner));
    return BigInt(await this.#node.call(hexToBytes(token), data));
  }

  async tokenDecimals(token: Hex): Promise<number> {
    return Number(await this.#node.call(hexToBytes(token), encodeCall("decimals()")));
  }

  async receiptOf(hash: Hex): Promise<Receipt> {
    const receipt = await this.#node.receipt(hash);
    if (receipt === null) throw new DemoFailedError(`the chain has no receipt of transaction ${hash}`);
    return receipt;
  }

  /** The receipt of the wrapper that carried an InnerTx. A wrapper stands directly before its InnerTx in the block. */
  async wrapperOf({ blockNumber, transactionIndex, transactionHash }: Receipt): Promise<Receipt> {
    const params = [blockNumber, false];
    const { transactions } = await this.#node.request<{ transactions: Hex[] }>(
      "eth_getBlockByNumber",
      params,
    );
    const hash = transactions[Number(transactionIndex) - 1];
    if (hash === undefined)
      throw new DemoFailedError(`transaction ${transactionHash} has no wrapper before it`);
    return this.receiptOf(hash);
  }
}

/** The demonstration had another outcome than expected. The message says which. */
export class DemoFailedError extends CommandFailedError {
  override readonly name = "DemoFailedError";
}
