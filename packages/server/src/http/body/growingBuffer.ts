import { ProtocolError } from "@gas-waiver/protocol";
import type { MemoryReservation } from "../../model/memoryReservation.js";

/** A body may come in this many chunks of any size. Beyond them, the average size of a chunk has a minimum. */
export const FREE_CHUNKS = 16_384;
export const MIN_AVERAGE_CHUNK_BYTES = 64;

/** Collects a body that arrives in chunks of any size, in one block of memory that grows. */
export class GrowingBuffer {
  readonly #maxBytes: number;
  readonly #reservation: MemoryReservation | undefined;
  #bytes: Buffer;
  #length = 0;
  #chunks = 0;

  /** @param reservation counts the block's size, if given. */
  constructor(initialBytes: number, maxBytes: number, reservation: MemoryReservation | undefined) {
    reservation?.grow(initialBytes);
    this.#bytes = Buffer.allocUnsafe(initialBytes);
    this.#maxBytes = maxBytes;
    this.#reservation = reservation;
  }

  /**
   * @returns false, and adds nothing, if the body would be larger than `maxBytes`.
   * @throws {@link ProtocolError} for a body of very many small chunks, or `BODIES_AT_CAPACITY`.
   */
  add(chunk: Buffer): boolean {
    const length = this.#length + chunk.length;
    if (++this.#chunks > FREE_CHUNKS + length / MIN_AVERAGE_CHUNK_BYTES) {
      throw new ProtocolError("MALFORMED_BODY", "the body comes in too many small chunks");
    }
    if (length > this.#maxBytes) return false;
    if (length > this.#bytes.length) this.#grow(length);
    chunk.copy(this.#bytes, this.#length);
    this.#length = length;
    return true;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(minBytes: number): void {
    const size = Math.min(this.#maxBytes, Math.max(minBytes, this.#bytes.length * 2));
    this.#reservation?.grow(size - this.#bytes.length);
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
