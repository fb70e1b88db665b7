import { bytesToHex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { ChainTransaction } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import type { LocatedTransaction } from "../chain/ledger.js";
import type { Methods } from "../rpc/method.js";
import { bytes, hash, quantity } from "../rpc/params.js";
import { findBlock } from "./findBlock.js";
import { formatReceipt, formatTransaction } from "./format.js";

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
