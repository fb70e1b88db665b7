import type { Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { IncludedTransaction } from "../block/included.js";

/** A transaction with its place in the chain. */
export interface LocatedTransaction {
  readonly block: SealedBlock;
  readonly index: number;
  readonly included: IncludedTransaction;
}

/** The number of latest blocks that keep their transactions as objects. Older blocks keep bytes. */
const UNPACKED_BLOCKS = 32;

/** Finds blocks by number, by hash, and by the hashes of their transactions. */
export class Ledger {
  readonly #blocks: SealedBlock[];
  readonly #numbers = new Map<Hex, number>();
  readonly #places = new Map<Hex, { readonly block: number; readonly index: number }>();

  constructor(genesis: SealedBlock) {
    this.#blocks = [];
    this.append(genesis);
  }

  get head(): SealedBlock {
    const head = this.#blocks[this.#blocks.length - 1];
    if (head === undefined) throw new Error("a ledger always has its genesis block");
    return head;
  }

  /** @param hashes the hashes of the block's transactions. Passing them spares decoding a packed block. */
  append(block: SealedBlock, hashes: readonly Hex[] = block.transactions.map(({ tx }) => tx.hash)): void {
    this.#blocks.push(block);
    this.#blocks[this.#blocks.length - 1 - UNPACKED_BLOCKS]?.pack();
    this.#numbers.set(block.hash, block.number);
    hashes.forEach((hash, index) => {
      this.#places.set(hash, { block: block.number, index });
    });
  }

  /** Removes the blocks after `number`. @returns the removed blocks, oldest first. */
  truncate(number: number): SealedBlock[] {
    const removed = this.#blocks.splice(number + 1);
    for (const { hash, transactions } of removed) {
      this.#numbers.delete(hash);
      for (const { tx } of transactions) this.#places.delete(tx.hash);
    }
    return removed;
  }

  byNumber(number: number): SealedBlock | undefined {
    return this.#blocks[number];
  }

  byHash(hash: Hex): SealedBlock | undefined {
    const number = this.#numbers.get(hash);
    return number === undefined ? undefined : this.#blocks[number];
  }

  transaction(hash: Hex): LocatedTransaction | undefined {
    const place = this.#places.get(hash);
    const block = place && this.#blocks[place.block];
    const included = place && block?.transactions[place.index];
    return included && { block, index: place.index, included };
  }
}
