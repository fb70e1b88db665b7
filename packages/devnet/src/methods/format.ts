import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { type SealedBlock, typeOf } from "../block/block.js";
import type { IncludedTransaction } from "../block/included.js";
import { type ChainTransaction, decodeForEvm } from "../block/transaction.js";
import type { LocatedTransaction } from "../chain/ledger.js";
import type { Log } from "../evm/executor.js";
import { effectiveGasPrice } from "../evm/gasPrice.js";

// Formats the chain's objects for Ethereum's JSON-RPC.

export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}

export function formatBlock(block: SealedBlock, full: boolean) {
  const { headerBytes, transactions } = block;
  const bodyBytes = transactions.reduce((sum, { tx }) => sum + tx.raw.length, 0);
  return {
    ...formatHeader(block),
    totalDifficulty: "0x0",
    withdrawals: [],
    size: toQuantity(headerBytes.length + bodyBytes),
    uncles: [],
    transactions: transactions.map((included, index) =>
      full ? formatTransaction(included.tx, { block, index, included }) : included.tx.hash,
    ),
  };
}

/** A header, as subscriptions to newHeads get it. EthereumJS has the yellow paper's names for some fields. */
export function formatHeader({ header, hash }: SealedBlock) {
  const { uncleHash, coinbase, transactionsTrie, receiptTrie, ...fields } = header.toJSON();
  return {
    ...fields,
    hash,
    sha3Uncles: uncleHash,
    miner: coinbase,
    transactionsRoot: transactionsTrie,
    receiptsRoot: receiptTrie,
  };
}

/** @param location undefined for a transaction that waits in the pool. */
export function formatTransaction(tx: ChainTransaction, location: LocatedTransaction | undefined) {
  const evm = decodeForEvm(tx.raw, tx.sender);
  const { gasLimit: _gasLimit, data: _data, ...fields } = evm.toJSON();
  return {
    ...fields,
    blockHash: location?.block.hash ?? null,
    blockNumber: location === undefined ? null : toQuantity(location.block.number),
    transactionIndex: location === undefined ? null : toQuantity(location.index),
    hash: tx.hash,
    from: tx.sender,
    to: evm.to === undefined ? null : bytesToHex(evm.to.bytes),
    gas: toQuantity(evm.gasLimit),
    gasPrice: toQuantity(location?.included.receipt.effectiveGasPrice ?? effectiveGasPrice(evm)),
    value: toQuantity(evm.value),
    input: bytesToHex(evm.data),
    ...("authorizationList" in evm && {
      authorizationList: evm.authorizationList.map(formatAuthorization),
    }),
  };
}

function formatAuthorization(fields: readonly Uint8Array[]) {
  const [chainId, address, nonce, yParity, r, s] = fields.map((field) => bytesToHex(field));
  const number = (hex: Hex | undefined) => toQuantity(hex === undefined || hex === "0x" ? 0n : BigInt(hex));
  return {
    chainId: number(chainId),
    address,
    nonce: number(nonce),
    yParity: number(yParity),
    r: number(r),
    s: number(s),
  };
}

export function formatReceipt({ block, index, included }: LocatedTransaction) {
  const { tx, receipt } = included;
  const evm = decodeForEvm(tx.raw, tx.sender);
  return {
    transactionHash: tx.hash,
    transactionIndex: toQuantity(index),
    blockHash: block.hash,
    blockNumber: toQuantity(block.number),
    from: tx.sender,
    to: evm.to === undefined ? null : bytesToHex(evm.to.bytes),
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    gasUsed: toQuantity(receipt.gasUsed),
    effectiveGasPrice: toQuantity(receipt.effectiveGasPrice),
    contractAddress: receipt.created === undefined ? null : bytesToHex(receipt.created),
    logs: formatLogs(block, index, included),
    logsBloom: bytesToHex(receipt.bloom),
    status: toQuantity(receipt.status),
    type: toQuantity(typeOf(tx)),
  };
}

export type FormattedLog = ReturnType<typeof formatLog>;

export function formatLogs(block: SealedBlock, index: number, included: IncludedTransaction): FormattedLog[] {
  return included.receipt.logs.map((log, i) => formatLog(block, index, included, log, i));
}

/** @param indexInTransaction the index of the log in its transaction. */
export function formatLog(
  block: SealedBlock,
  index: number,
  { tx, receipt }: IncludedTransaction,
  log: Log,
  indexInTransaction: number,
) {
  return {
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(log.data),
    blockNumber: toQuantity(block.number),
    blockHash: block.hash,
    blockTimestamp: toQuantity(block.timestamp),
    transactionHash: tx.hash,
    transactionIndex: toQuantity(index),
    logIndex: toQuantity(receipt.firstLogIndex + indexInTransaction),
    removed: false,
  };
}
