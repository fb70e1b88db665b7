import {
  type Provider,
  type Transaction,
  type TransactionLike,
  type TransactionRequest,
  TransactionResponse,
} from "ethers";
import { InvalidArgumentError } from "../errors.js";
import type { GaslessCall } from "../gasless/gaslessCall.js";
import { assertHonoured } from "../gasless/honoured.js";

/** The members that a call reads, beside prices and the type. */
const HONOURED = ["to", "from", "data", "value", "gasLimit", "nonce", "chainId"];

/** The member that a call that sends reads as well, and that an estimate may have. */
export const PAYMENT = ["customData"];

/** @throws InvalidArgumentError for a parameter that the call would drop. */
export function assertReadable(transaction: TransactionRequest, also: readonly string[] = []): void {
  assertHonoured(transaction, [...HONOURED, ...also]);
}

/** Returns the call of a request, whose names and addresses ethers has resolved. */
export function callOf(
  { gasLimit: gas, nonce, chainId, customData }: TransactionRequest,
  { to, data, value }: TransactionLike<string>,
): GaslessCall {
  if (typeof to !== "string")
    throw new InvalidArgumentError("the transaction has no `to`: creation is not waived");
  if (customData) assertHonoured(customData, ["idempotencyKey"]);
  return {
    ...{ to, data: data ?? "0x", value: BigInt(value ?? 0) },
    gas: gas === undefined || gas === null ? undefined : BigInt(gas),
    nonce: nonce === undefined || nonce === null ? undefined : Number(nonce),
    chainId: chainId === undefined || chainId === null ? undefined : Number(chainId),
    idempotencyKey: customData?.idempotencyKey,
  };
}

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
