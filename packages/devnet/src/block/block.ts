import { setImmediate } from "node:timers/promises";
import {
  type BlockHeader,
  createBlockHeader,
  createBlockHeaderFromRLP,
  type HeaderData,
} from "@ethereumjs/block";
import { RLP } from "@ethereumjs/rlp";
import { Address } from "@ethereumjs/util";
import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  crypto,
  encodeRlp,
  type Hex,
  hexToBytes,
} from "@gas-waiver/protocol";
import { common } from "../evm/common.js";
import type { BlockEnvironment, Outcome } from "../evm/executor.js";
import { EMPTY_ROOT, listRoot } from "../state/trie.js";
import { BLOOM_BYTES, bloomOf } from "./bloom.js";
import type { IncludedTransaction, TransactionReceipt, TransactionRole } from "./included.js";
import { packTransactions, type UnpackedTransaction, unpackTransactions } from "./packing.js";
import type { ChainTransaction } from "./transaction.js";

/** A finished block. It keeps its header as RLP, which takes 600 bytes where the object takes 3,000. */
export class SealedBlock {
  readonly hash: Hex;
  /** The bloom filter over the block's logs; undefined if it has no logs. */
  readonly logsBloom: Uint8Array | undefined;
  #timestamp: bigint | undefined;
  #transactions: readonly IncludedTransaction[] | Uint8Array;
  #unpacked: WeakRef<readonly IncludedTransaction[]> | undefined;

  /**
   * @param number the header's number.
   * @param transactions objects, or the bytes that {@link packed} returns.
   */
  constructor(
    readonly number: number,

    /** The header as RLP. Its Keccak hash is `hash`. */
    readonly headerBytes: Uint8Array,
    transactions: readonly IncludedTransaction[] | Uint8Array,
  ) {
    this.hash = bytesToHex(crypto.keccak256(headerBytes));
    this.#transactions = transactions;
    const bloom = headerBytes.subarray(BLOOM_AT, BLOOM_AT + BLOOM_BYTES);
    this.logsBloom = bloom.some((byte) => byte !== 0) ? bloom : undefined;
  }

  /** Packed transactions are decoded on each read, unless a caller still holds the objects decoded before. */
  get transactions(): readonly IncludedTransaction[] {
    if (!(this.#transactions instanceof Uint8Array)) return this.#transactions;
    let transactions = this.#unpacked?.deref();
    if (transactions === undefined) {
      transactions = includedOf(unpackTransactions(this.#transactions));
      this.#unpacked = new WeakRef(transactions);
    }
    return transactions;
  }

  /** The transactions with their receipts as bytes. */
  packed(): Uint8Array {
    return this.#transactions instanceof Uint8Array
      ? this.#transactions
      : packTransactions(this.#transactions);
  }

  /** Keeps the transactions as bytes from now on, which suits a block that is seldom read. */
  pack(): void {
    if (this.#transactions instanceof Uint8Array || this.#transactions.length === 0) return;
    this.#transactions = packTransactions(this.#transactions);
  }

  /** The time in seconds since 1970. */
  get timestamp(): bigint {
    this.#timestamp ??= bytesToBigInt(
      (RLP.decode(this.headerBytes) as Uint8Array[])[TIMESTAMP_FIELD] ?? EMPTY,
    );
    return this.#timestamp;
  }

  /** Decodes the header on each read. */
  get header(): BlockHeader {
    return createBlockHeaderFromRLP(this.headerBytes, HEADER_OPTIONS);
  }
}

/** Offset of the bloom in a header's RLP: behind five hashes, an address, and the prefixes of list and fields. */
const BLOOM_AT = 3 + 5 * 33 + 21 + 3;
const TIMESTAMP_FIELD = 11;

const HEADER_OPTIONS = { common, skipConsensusFormatValidation: true };

/** The requests hash of a block without requests (EIP-7685). */
const NO_REQUESTS_HASH = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const EMPTY = new Uint8Array(0);
const ZERO_HASH = new Uint8Array(32);

/** Collects the transactions and receipts of a block under construction. */
export class BlockDraft {
  readonly #included: IncludedTransaction[] = [];
  #gasUsed = 0n;
  #logs = 0;
  #roots = { transactions: EMPTY_ROOT, receipts: EMPTY_ROOT };

  get gasUsed(): bigint {
    return this.#gasUsed;
  }

  get included(): readonly IncludedTransaction[] {
    return this.#included;
  }

  add(tx: ChainTransaction, role: TransactionRole, outcome: Outcome, effectiveGasPrice: bigint): void {
    const { returnData: _, ...result } = outcome;
    this.#gasUsed += outcome.gasUsed;
    const receipt: TransactionReceipt = {
      ...result,
      cumulativeGasUsed: this.#gasUsed,
      effectiveGasPrice,
      firstLogIndex: this.#logs,
      bloom: bloomOf(outcome.logs),
    };
    this.#logs += outcome.logs.length;
    this.#included.push({ tx, role, receipt });
  }

  /** Computes the roots that do not depend on the state, so that {@link seal} is short. Other work runs between them. */
  async prepare(): Promise<void> {
    const transactions = listRoot(this.#included.map(({ tx }) => tx.raw));
    await setImmediate();
    this.#roots = { transactions, receipts: listRoot(this.#included.map(encodeReceipt)) };
    await setImmediate();
  }

  /** Makes the block. Call {@link prepare} first. */
  seal(environment: BlockEnvironment, parentHash: Hex, stateRoot: Hex): SealedBlock {
    const bloom = new Uint8Array(256);
    for (const { receipt } of this.#included) {
      if (receipt.logs.length === 0) continue;
      for (let i = 0; i < 256; i++) bloom[i] = (bloom[i] ?? 0) | (receipt.bloom[i] ?? 0);
    }
    return sealedBlock(this.#included, {
      parentHash,
      number: environment.number,
      timestamp: environment.timestamp,
      coinbase: new Address(environment.coinbase),
      gasLimit: environment.gasLimit,
      gasUsed: this.#gasUsed,
      baseFeePerGas: environment.baseFee,
      mixHash: environment.prevRandao,
      stateRoot: hexToBytes(stateRoot),
      transactionsTrie: hexToBytes(this.#roots.transactions),
      receiptTrie: hexToBytes(this.#roots.receipts),
      logsBloom: bloom,
    });
  }
}

/** Restores cumulative gas, log indices and blooms, which packed transactions leave out. */
export function includedOf(unpacked: readonly UnpackedTransaction[]): readonly IncludedTransaction[] {
  const draft = new BlockDraft();
  for (const { tx, role, outcome, effectiveGasPrice } of unpacked) {
    draft.add(tx, role, outcome, effectiveGasPrice);
  }
  return draft.included;
}

/** Makes a block from its transactions and the header fields that depend on them or on the state. */
export function sealedBlock(transactions: readonly IncludedTransaction[], data: HeaderData): SealedBlock {
  const header = createBlockHeader(
    {
      ...data,
      // With a base fee, a waived transaction runs as in a block without one (evm/executor.ts).
      baseFeePerGas: data.baseFeePerGas ?? 0n,
      withdrawalsRoot: EMPTY_ROOT,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: ZERO_HASH,
      requestsHash: NO_REQUESTS_HASH,
    },
    HEADER_OPTIONS,
  );
  return new SealedBlock(Number(header.number), header.serialize(), transactions);
}

/** The type byte of a transaction; 0 for legacy. */
export function typeOf(tx: ChainTransaction): number {
  const first = tx.raw[0] ?? 0;
  return first < 0x80 ? first : 0;
}

/** A receipt as the receipts trie holds it (EIP-658, EIP-2718). */
function encodeReceipt({ tx, receipt }: IncludedTransaction): Uint8Array {
  const payload = encodeRlp([
    BigInt(receipt.status),
    receipt.cumulativeGasUsed,
    receipt.bloom,
    receipt.logs.map(({ address, topics, data }) => [address, topics, data]),
  ]);
  const type = typeOf(tx);
  return type === 0 ? payload : concatBytes(Uint8Array.of(type), payload);
}
