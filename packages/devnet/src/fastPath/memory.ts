import { CannotRunError } from "./cannotRunError.js";
import { readWord, writeWord } from "./word.js";

const INITIAL_BYTES = 4_096;
/** Memory above this costs more gas than a transaction usually has. */
const MAX_BYTES = 2 ** 24;

/** The memory of a call. It grows by words of 32 bytes and costs gas for them. */
export class Memory {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #words = 0;

  /** The size in bytes, a multiple of 32. */
  get size(): number {
    return 32 * this.#words;
  }

  /** Empties the memory for the next call. */
  clear(): void {
    this.#bytes.fill(0, 0, this.size);
    this.#words = 0;
  }

  /** The gas for making a range part of the memory. */
  priceOf(offset: number, length: number): number {
    const end = offset + length;
    if (length === 0 || end <= this.size) return 0;
    if (end > MAX_BYTES) throw new CannotRunError("much memory");
    return gasFor(Math.ceil(end / 32)) - gasFor(this.#words);
  }

  /** Makes a range part of the memory. Charge its price before. */
  expand(offset: number, length: number): void {
    const end = offset + length;
    if (length === 0 || end <= this.size) return;
    this.#words = Math.ceil(end / 32);
    if (this.size > this.#bytes.length) this.#grow();
  }

  #grow(): void {
    let capacity = this.#bytes.length;
    while (capacity < this.size) capacity *= 2;
    const bytes = new Uint8Array(capacity);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }

  // The functions below need ranges that `expand` has made part of the memory.

  readWord(offset: number): bigint {
    return readWord(this.#view, offset);
  }

  writeWord(offset: number, value: bigint): void {
    writeWord(this.#view, offset, value);
  }

  writeByte(offset: number, value: number): void {
    this.#bytes[offset] = value;
  }

  /** A view that is valid until the next write. */
  view(offset: number, length: number): Uint8Array {
    return this.#bytes.subarray(offset, offset + length);
  }

  copy(offset: number, length: number): Uint8Array {
    return this.#bytes.slice(offset, offset + length);
  }

  /** Copies from a source that is followed by zeros without end. */
  write(offset: number, source: Uint8Array, sourceOffset: number, length: number): void {
    // The offset of an empty range may be anywhere.
    if (length === 0) return;
    const part = source.subarray(sourceOffset, sourceOffset + length);
    this.#bytes.set(part, offset);
    this.#bytes.fill(0, offset + part.length, offset + length);
  }

  move(target: number, source: number, length: number): void {
    this.#bytes.copyWithin(target, source, source + length);
  }
}

/** The gas for a memory of so many words (yellow paper, appendix H). */
function gasFor(words: number): number {
  return 3 * words + Math.floor((words * words) / 512);
}
