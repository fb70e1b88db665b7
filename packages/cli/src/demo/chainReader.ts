import { TEST_TOKEN } from "@gas-waiver/devnet/presets";
import { encodeCall, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import type { JsonRpcClient, Receipt } from "../jsonRpcClient.js";

/** The balance in wei. */
export const balanceOf = (node: JsonRpcClient, address: Hex): Promise<bigint> =>
  node.quantity("eth_getBalance", [address, "latest"]);

/** The balance of the test token in its smallest unit. */
export async function tokenBalanceOf(node: JsonRpcClient, owner: Hex): Promise<bigint> {
  return BigInt(await node.call(TEST_TOKEN, encodeCall("balanceOf(address)", hexToBytes(owner))));
}

export async function tokenDecimals(node: JsonRpcClient): Promise<number> {
  return Number(await node.call(TEST_TOKEN, encodeCall("decimals()")));
}

export async function receiptOf(node: JsonRpcClient, hash: Hex): Promise<Receipt> {
  const receipt = await node.receipt(hash);
  if (receipt === null) throw new CommandFailedError(`the chain has no receipt of transaction ${hash}`);
  return receipt;
}

/** The receipt of the wrapper that carried an InnerTx. A wrapper stands directly before its InnerTx in the block. */
export async function wrapperOf(
  node: JsonRpcClient,
  { blockNumber, transactionIndex, transactionHash }: Receipt,
): Promise<Receipt> {
  const block = await node.request<{ transactions: Hex[] }>("eth_getBlockByNumber", [blockNumber, false]);
  const hash = block.transactions[Number(transactionIndex) - 1];
  if (hash === undefined)
    throw new CommandFailedError(`transaction ${transactionHash} has no wrapper before it`);
  return receiptOf(node, hash);
}
