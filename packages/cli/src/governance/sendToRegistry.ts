import { setTimeout as pause } from "node:timers/promises";
import {
  bytesToHex,
  type Hex,
  privateKeyToAddress,
  REGISTRY_ADDRESS,
  signTransaction,
} from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import type { JsonRpcClient, Receipt } from "../jsonRpcClient.js";
import { asFailure } from "./registry.js";

const INCLUDED_WITHIN_MS = 120_000;
const ASK_EVERY_MS = 100;

export interface Sent {
  readonly hash: Hex;
  readonly receipt: Receipt;
}

/**
 * Sends a governance transaction as its validator, who pays for it, and waits until a block has it.
 * What the registry would refuse is not sent: the estimate of its gas says so first.
 * @throws CommandFailedError with what the registry or the node says.
 */
export async function sendToRegistry(
  node: JsonRpcClient,
  data: Uint8Array,
  privateKey: Uint8Array,
  signal: AbortSignal,
): Promise<Sent> {
  const from = bytesToHex(privateKeyToAddress(privateKey));
  try {
    const call = { from, to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(data) };
    const [gas, gasPrice, nonce, chainId] = await Promise.all([
      node.quantity("eth_estimateGas", [call]),
      node.quantity("eth_gasPrice"),
      node.quantity("eth_getTransactionCount", [from, "pending"]),
      node.quantity("eth_chainId"),
    ]);
    // Another vote that comes in between may make this one carry the proposal, which costs more.
    const gasLimit = gas + 200_000n;
    const fields = { type: "legacy", to: REGISTRY_ADDRESS, value: 0n, data } as const;
    const { raw } = signTransaction({ ...fields, chainId, nonce, gasPrice, gasLimit }, privateKey);
    const hash = await node.request<Hex>("eth_sendRawTransaction", [bytesToHex(raw)]);
    const receipt = await included(node, hash, signal);
    if (BigInt(receipt.status) === 1n) return { hash, receipt };
    // It was right a moment ago: what has changed since says the same call, made again.
    await node.request("eth_call", [call, "latest"]);
    throw new CommandFailedError(`transaction ${hash} reverted in block ${BigInt(receipt.blockNumber)}`);
  } catch (error) {
    throw asFailure(error);
  }
}

async function included(node: JsonRpcClient, hash: Hex, signal: AbortSignal): Promise<Receipt> {
  const until = performance.now() + INCLUDED_WITHIN_MS;
  while (performance.now() < until) {
    const receipt = await node.request<Receipt | null>("eth_getTransactionReceipt", [hash]);
    if (receipt !== null) return receipt;
    await pause(ASK_EVERY_MS, undefined, { signal });
  }
  throw new CommandFailedError(
    `transaction ${hash} is sent, but no block has had it for ${INCLUDED_WITHIN_MS / 1000} s; it may still come`,
  );
}
