import {
  type BlockHeader,
  createBlockHeader,
  createBlockHeaderFromRLP,
  type HeaderData,
} from "@ethereumjs/block";
import { RLP } from "@ethereumjs/rlp";
import { Address } from "@ethereumjs/util";
import { bytesToBigInt, bytesToHex, concatBytes, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { common } from "../evm/common.js";
import type { BlockEnvironment, Outcome } from "../evm/executor.js";
import { EMPTY_ROOT, listRoot } from "../state/trie.js";
import { BLOOM_BYTES, bloomOf } from "./bloom.js";
import type { Included, Receipt, Role } from "./included.js";
import { packTransactions, type Unpacked, unpackTransactions } from "./packing.js";
import type { ChainTransaction } from "./transaction.js";

/** A block for good. Its header is kept as RLP: 600 bytes instead of 3,000, and empty blocks come all day. */
export class SealedBlock {
  readonly number: number;
  readonly hash: Hex;
  /** The header as RLP, of which `hash` is the hash. */
  readonly headerBytes: Uint8Array;
  /** The filter over the block's logs; undefined when it has none. */
  readonly logsBloom: Uint8Array | undefined;
  #timestamp: bigint | undefined;
  #transactions: readonly Included[] | Uint8Array;
  #unpacked: WeakRef<readonly Included[]> | undefined;

  /**
   * @param number has to be the header's.
   * @param transactions as they are, or packed, as {@link packed} gives them.
   */
  constructor(number: number, headerBytes: Uint8Array, transactions: readonly Included[] | Uint8Array) {
    this.number = number;
    this.hash = bytesToHex(crypto.keccak256(headerBytes));
    this.#transactions = transactions;
    this.headerBytes = headerBytes;
    const bloom = headerBytes.subarray(BLOOM_AT, BLOOM_AT + BLOOM_BYTES);
    this.logsBloom = bloom.some((byte) => byte !== 0) ? bloom : undefined;
  }

  /** Decoded each time where they are packed, unless somebody still has what was decoded before. */
  get transactions(): readonly Included[] {
    if (!(this.#transactions instanceof Uint8Array)) return this.#transactions;
    let transactions = this.#unpacked?.deref();
    if (transactions === undefined) {
      transactions = includedOf(unpackTransactions(this.#transactions));
      this.#unpacked = new WeakRef(transactions);
    }
    return transactions;
  }

  /** The transactions as bytes. */
  packed(): Uint8Array {
    return this.#transactions instanceof Uint8Array
      ? this.#transactions
      : packTransactions(this.#transactions);
  }

  /** Keeps the transactions as bytes from now on, for a block that is seldom read any more. */
  pack(): void {
    if (this.#transactions instanceof Uint8Array || this.#transactions.length === 0) return;
    this.#transactions = packTransactions(this.#transactions);
  }

  /** In seconds since 1970. */
  get timestamp(): bigint {
    this.#timestamp ??= bytesToBigInt(
      (RLP.decode(this.headerBytes) as Uint8Array[])[TIMESTAMP_FIELD] ?? EMPTY,
    );
    return this.#timestamp;
  }

  /** Decoded each time. */
  get header(): BlockHeader {
    return createBlockHeaderFromRLP(this.headerBytes, HEADER_OPTIONS);
  }
}

/** In a header's RLP, behind five hashes, an address, and the prefixes of the list and of each field. */
const BLOOM_AT = 3 + 5 * 33 + 21 + 3;
const TIMESTAMP_FIELD = 11;

const HEADER_OPTIONS = { common, skipConsensusFormatValidation: true };

/** The hash of "no uncles" and the root of "no withdrawals" come with EthereumJS' defaults. */
const NO_REQUESTS_HASH = "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const EMPTY = new Uint8Array(0);
const ZERO_HASH = new Uint8Array(32);

/** Collects what runs in a block and becomes its transactions and receipts. */
export class BlockDraft {
  readonly #included: Included[] = [];
  #gasUsed = 0n;
  #logs = 0;
  #roots = { transactions: EMPTY_ROOT, receipts: EMPTY_ROOT };

  get gasUsed(): bigint {
    return this.#gasUsed;
  }

  get size(): number {
    return this.#included.length;
  }

  get included(): readonly Included[] {
    return this.#included;
  }

  add(tx: ChainTransaction, role: Role, outcome: Outcome, effectiveGasPrice: bigint): void {
    this.#gasUsed += outcome.gasUsed;
    const receipt: Receipt = {
      status: outcome.status,
      gasUsed: outcome.gasUsed,
      cumulativeGasUsed: this.#gasUsed,
      effectiveGasPrice,
      logs: outcome.logs,
      firstLogIndex: this.#logs,
      bloom: bloomOf(outcome.logs),
      created: outcome.created,
      failure: outcome.failure,
    };
    this.#logs += outcome.logs.length;
    this.#included.push({ tx, role, receipt });
  }

  /** Works out what does not need the state, for {@link seal} to be short. @param pause lets others run. */
  async prepare(pause: () => Promise<void>): Promise<void> {
    const transactions = listRoot(this.#included.map(({ tx }) => tx.raw));
    await pause();
    this.#roots = { transactions, receipts: listRoot(this.#included.map(encodeReceipt)) };
    await pause();
  }

  /** After {@link prepare}. */
  seal(environment: BlockEnvironment, parentHash: Hex, stateRoot: Hex): SealedBlock {
    const bloom = new Uint8Array(256);
    for (const { receipt } of this.#included) {
      for (let i = 0; i < 256; i++) bloom[i] = (bloom[i] ?? 0) | (receipt.bloom[i] ?? 0);
    }
    return sealedBlock(this.#included, {
      parentHash,
      number: environment.number,
      timestamp: environment.timestamp,
      coinbase: new Address(environment.coinbase),
      gasLimit: environment.gasLimit,
      gasUsed: this.#gasUsed,
      mixHash: environment.prevRandao,
      stateRoot: hexToBytes(stateRoot),
      transactionsTrie: hexToBytes(this.#roots.transactions),
      receiptTrie: hexToBytes(this.#roots.receipts),
      logsBloom: bloom,
    });
  }
}

/** The transactions with their places in the block worked out. */
export function includedOf(unpacked: readonly Unpacked[]): readonly Included[] {
  const draft = new BlockDraft();
  for (const { tx, role, outcome, effectiveGasPrice } of unpacked) {
    draft.add(tx, role, outcome, effectiveGasPrice);
  }
  return draft.included;
}

export function sealedBlock(transactions: readonly Included[], data: HeaderData): SealedBlock {
  const header = createBlockHeader(
    {
      ...data,
      // D11 keeps the price floor in the pool, so that a price of 0 is valid in a block.
      baseFeePerGas: 0n,
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
function encodeReceipt({ tx, receipt }: Included): Uint8Array {
  const payload = RLP.encode([
    receipt.status,
    receipt.cumulativeGasUsed,
    receipt.bloom,
    receipt.logs.map(({ address, topics, data }) => [address, [...topics], data]),
  ]);
  const type = typeOf(tx);
  return type === 0 ? payload : concatBytes(Uint8Array.of(type), payload);
}
