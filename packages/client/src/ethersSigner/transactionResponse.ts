import { type Provider, type Transaction, TransactionResponse } from "ethers";
import { InvalidArgumentError } from "../errors.js";

/** Returns the transaction in the form of a node's answer before it is in a block. */
export function responseOf(transaction: Transaction, provider: Provider): TransactionResponse {
  const { hash, from, signature, to, nonce, gasLimit, data, value, chainId } = transaction;
  if (hash === null || from === null || signature === null)
    throw new InvalidArgumentError("the transaction is not signed");
  const inclusion = { blockNumber: null, blockHash: null, index: 0 };
  const fees = { gasPrice: 0n, maxPriorityFeePerGas: null, maxFeePerGas: null };
  const call = { from, to, nonce, gasLimit, data, value, chainId, signature };
  const noLists = { accessList: null, authorizationList: null };
  return new TransactionResponse({ hash, type: 0, ...inclusion, ...fees, ...call, ...noLists }, provider);
}
