// The reader of results that contracts return. It needs no cryptography, so pages can read reverts.

import { bytesToBigInt } from "../encoding/hex.js";
import type { AllowedTarget } from "./AllowedTarget.js";

const WORD = 32;

/**
 * Thrown when what a contract returned does not fit its ABI: the called address holds another contract.
 */
export class UnexpectedResultError extends Error {
  override readonly name = "UnexpectedResultError";
}

/**
 * Reads a returned tuple word by word. Offsets in it count from its own start.
 * @example
 * ```ts
 * const result = new ResultReader(hexToBytes(resultHex));
 * const balance = result.uint();
 * ```
 */
export class ResultReader {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0) {
    this.#bytes = bytes;
    this.#start = start;
    this.#at = start;
  }

  /** Reads a number of so many bits, as Solidity does: a larger one fits no such type. */
  uint(bits = 256n): bigint {
    const value = bytesToBigInt(this.word());
    if (value >> bits > 0n) throw new UnexpectedResultError(`${value} is no uint${bits}`);
    return value;
  }

  bool(): boolean {
    return this.uint() !== 0n;
  }

  address(): Uint8Array {
    return this.word().slice(12);
  }

  addresses(): Uint8Array[] {
    return this.#array((items) => items.address());
  }

  uints(): bigint[] {
    return this.#array((items) => items.uint());
  }

  targets(): AllowedTarget[] {
    return this.#array((items) => items.follow().#target());
  }

  /** Reads a dynamic string as UTF-8. */
  text(): string {
    return new TextDecoder().decode(this.follow().bytes());
  }

  /** Reads bytes with their length in front, where their offset leads to. */
  bytes(): Uint8Array {
    const length = this.#readLength();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new UnexpectedResultError(`${length} bytes are past the end`);
    return this.#bytes.subarray(this.#at, end);
  }

  /** Reads the length of a list, where its offset leads to, and returns the reader of its items. */
  list(): { readonly length: number; readonly items: ResultReader } {
    const length = this.#readLength();
    return { length, items: new ResultReader(this.#bytes, this.#at) };
  }

  /** Returns the reader of a dynamic value, whose offset is the next word. Offsets in it count from its own start. */
  follow(): ResultReader {
    return new ResultReader(this.#bytes, this.#start + this.#readLength());
  }

  /** Reads the next 32 bytes. */
  word(): Uint8Array {
    const end = this.#at + WORD;
    if (end > this.#bytes.length) throw new UnexpectedResultError(`${this.#bytes.length} bytes are too few`);
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** Returns the bytes that have not been read. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  #target(): AllowedTarget {
    const target = this.address();
    const [anyTarget, anySelector] = [this.bool(), this.bool()];
    const selectors = this.#array((items) => items.word().slice(0, 4));
    return { address: anyTarget ? "*" : target, ...(anySelector ? {} : { selectors }) };
  }

  #array<T>(read: (items: ResultReader) => T): T[] {
    const { length, items } = this.follow().list();
    const all: T[] = [];
    // A length that is too large fails at the end of the bytes, before memory is allocated for it.
    while (all.length < length) all.push(read(items));
    return all;
  }

  #readLength(): number {
    const value = this.uint();
    if (value > BigInt(this.#bytes.length)) throw new UnexpectedResultError(`${value} is past the end`);
    return Number(value);
  }
}
