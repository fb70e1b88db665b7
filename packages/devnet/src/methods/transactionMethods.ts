import { bytesToHex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { ChainTransaction } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import type { LocatedTransaction } from "../chain/ledger.js";
import type { Methods } from "../rpc/method.js";
import { boolean, bytes, hash, optional, quantity } from "../rpc/params.js";
import { findBlock } from "./findBlock.js";
import { formatBlock, formatReceipt, formatTransaction, toQuantity } from "./format.js";
import { getLogs } from "./logs.js";

/** Methods that read transactions in blocks and in the pool, and eth_sendRawTransaction. */
export function transactionMethods(chain: Chain): Methods {
  const byHash = (blockHash: unknown) => chain.ledger.byHash(hash(blockHash));
  return {
    eth_sendRawTransaction: ([raw]) => chain.send(bytes(raw, "the transaction")),
    eth_getTransactionByHash: ([txHash]) => {
      const requestedHash = hash(txHash);
      const located = chain.ledger.transaction(requestedHash);
      if (located !== undefined) return transactionJson(located);
      const waiting = chain.pool.find(requestedHash);
      return waiting === undefined ? null : formatTransaction(waiting.tx, undefined);
    },
    eth_getTransactionByBlockNumberAndIndex: ([tag, index]) =>
      transactionJson(transactionAt(findBlock(chain, tag), index)),
    eth_getTransactionByBlockHashAndIndex: ([blockHash, index]) =>
      transactionJson(transactionAt(byHash(blockHash), index)),
    eth_getRawTransactionByHash: ([txHash]) => {
      const requestedHash = hash(txHash);
      return rawOf(
        chain.ledger.transaction(requestedHash)?.included.tx ?? chain.pool.find(requestedHash)?.tx,
      );
    },
    eth_getRawTransactionByBlockNumberAndIndex: ([tag, index]) =>
      rawOf(transactionAt(findBlock(chain, tag), index)?.included.tx),
    eth_getRawTransactionByBlockHashAndIndex: ([blockHash, index]) =>
      rawOf(transactionAt(byHash(blockHash), index)?.included.tx),
    eth_getTransactionReceipt: ([txHash]) => {
      const located = chain.ledger.transaction(hash(txHash));
      return located === undefined ? null : formatReceipt(located);
    },
  };
}

function transactionAt(block: SealedBlock | undefined, index: unknown): LocatedTransaction | undefined {
  const position = Number(quantity(index, "index", 2n ** 53n));
  const included = block?.transactions[position];
  return block && included && { block, index: position, included };
}

function transactionJson(located: LocatedTransaction | undefined) {
  return located === undefined ? null : formatTransaction(located.included.tx, located);
}

function rawOf(tx: ChainTransaction | undefined) {
  return tx === undefined ? null : bytesToHex(tx.raw);
}

/** Methods that read blocks. There are never uncles. */
export function blockMethods(chain: Chain): Methods {
  const byHash = (blockHash: unknown) => chain.ledger.byHash(hash(blockHash));
  return {
    eth_blockNumber: () => toQuantity(chain.head.number),
    eth_getBlockByNumber: ([tag, full]) => blockJson(findBlock(chain, tag), full),
    eth_getBlockByHash: ([blockHash, full]) => blockJson(byHash(blockHash), full),
    eth_getBlockTransactionCountByNumber: ([tag]) => count(findBlock(chain, tag)),
    eth_getBlockTransactionCountByHash: ([blockHash]) => count(byHash(blockHash)),
    eth_getUncleCountByBlockNumber: ([tag]) => (findBlock(chain, tag) === undefined ? null : "0x0"),
    eth_getUncleCountByBlockHash: ([blockHash]) => (byHash(blockHash) === undefined ? null : "0x0"),
    eth_getUncleByBlockNumberAndIndex: ([tag, index]) => noUncle(findBlock(chain, tag), index),
    eth_getUncleByBlockHashAndIndex: ([blockHash, index]) => noUncle(byHash(blockHash), index),
    eth_getBlockReceipts: ([tag]) => {
      const block = findBlock(chain, isHash(tag) ? { blockHash: tag } : tag);
      if (block === undefined) return null;
      return block.transactions.map((included, index) => formatReceipt({ block, index, included }));
    },
    eth_getLogs: ([filter]) => getLogs(chain, filter),
  };
}

function blockJson(block: SealedBlock | undefined, full: unknown) {
  const whole = optional(full, false, (value) => boolean(value, "the second parameter"));
  return block === undefined ? null : formatBlock(block, whole);
}

function count(block: SealedBlock | undefined) {
  return block === undefined ? null : toQuantity(block.transactions.length);
}

/** Checks the parameters although the answer is always null, so that malformed ones get an error. */
function noUncle(_block: SealedBlock | undefined, index: unknown): null {
  quantity(index, "index");
  return null;
}

function isHash(tag: unknown): boolean {
  return typeof tag === "string" && /^0x[0-9a-fA-F]{64}$/.test(tag);
}
