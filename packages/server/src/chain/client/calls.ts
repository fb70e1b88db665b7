import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { RpcCall } from "../rpc/rpcOutcome.js";

// The calls that more than one part makes, each written once. Addresses are 20 bytes or 0x hex, hashes 32 bytes.

/** A height, or the name of a block. */
export type BlockTag = bigint | "latest" | "finalized" | "safe";

/** A number as JSON-RPC writes it. */
export function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

/** Asks for a block with the hashes of its transactions. */
export const blockCall = (block: BlockTag): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [parameterOf(block), false],
});

/** Asks for a block with its whole transactions. */
export const fullBlockCall = (block: BlockTag): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [parameterOf(block), true],
});

/** Asks for the next nonce of an address after a block. */
export const nonceCallAt = (address: Uint8Array | string, block: BlockTag): RpcCall => ({
  method: "eth_getTransactionCount",
  params: [typeof address === "string" ? address : bytesToHex(address), parameterOf(block)],
});

/** Asks for the next nonce of an address after the latest block. */
export const nonceCall = (address: Uint8Array): RpcCall => nonceCallAt(address, "latest");

export const balanceCall = (address: Uint8Array): RpcCall => ({
  method: "eth_getBalance",
  params: [bytesToHex(address), "latest"],
});

export const transactionCall = (hash: Uint8Array): RpcCall => ({
  method: "eth_getTransactionByHash",
  params: [bytesToHex(hash)],
});

export const receiptCall = (hash: Uint8Array): RpcCall => ({
  method: "eth_getTransactionReceipt",
  params: [bytesToHex(hash)],
});

export const sendCall = (raw: Uint8Array): RpcCall => ({
  method: "eth_sendRawTransaction",
  params: [bytesToHex(raw)],
});

function parameterOf(block: BlockTag): string {
  return typeof block === "bigint" ? toQuantity(block) : block;
}
