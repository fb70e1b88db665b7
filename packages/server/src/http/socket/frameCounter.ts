/** The longest frame header: two bytes, eight of an extended length, four of a mask (RFC 6455, 5.2). */
const MAX_HEADER_BYTES = 14;
const FIRST_CONTROL_OPCODE = 8;
/** Marks the last fragment of a message. */
const FIN = 0x80;

/** The contents of one chunk of a WebSocket's bytes. */
export interface CountedChunk {
  /** The bytes in this chunk of each message that ends in it, with the headers of its frames. */
  readonly messages: readonly number[];
  /** The bytes in this chunk of the message or frame that does not end in it. */
  readonly rest: number;
  /** Frames that ended in this chunk after the last message of the chunk. */
  readonly frames: number;
}

/**
 * Counts the frames and messages of a WebSocket in its raw bytes, before the `ws` library has a whole message. It skips
 * their payloads, which the library validates.
 */
export class FrameCounter {
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
  /** Bytes of the current header that have arrived. */
  #headerBytes = 0;
  /** Bytes of the current payload that have not arrived. */
  #payloadBytes = 0;
  /** A message has begun, and its last fragment has not ended. */
  #isInMessage = false;

  /** True if all bytes so far belong to whole messages, pings and pongs. */
  get isBetweenMessages(): boolean {
    return !this.#isInMessage && this.#headerBytes === 0;
  }

  count(chunk: Buffer): CountedChunk {
    const messages: number[] = [];
    /** Bytes of the unfinished message, without those of the current frame. */
    let ofMessage = 0;
    let frameStart = 0;
    let frames = 0;
    for (let offset = 0; offset < chunk.length; ) {
      offset += this.#take(chunk, offset);
      if (!this.#isFrameWhole()) continue;
      const [first = 0] = this.#header;
      const bytes = offset - frameStart;
      frameStart = offset;
      this.#headerBytes = 0;
      frames++;
      if ((first & 0x0f) >= FIRST_CONTROL_OPCODE) continue;
      ofMessage += bytes;
      this.#isInMessage = (first & FIN) === 0;
      if (this.#isInMessage) continue;
      messages.push(ofMessage);
      ofMessage = 0;
      frames = 0;
    }
    return { messages, rest: ofMessage + chunk.length - frameStart, frames };
  }

  /** Reads a byte of a header, or a payload as far as it is there. @returns the number of bytes. */
  #take(chunk: Buffer, offset: number): number {
    if (this.#payloadBytes > 0) {
      const bytes = Math.min(this.#payloadBytes, chunk.length - offset);
      this.#payloadBytes -= bytes;
      return bytes;
    }
    this.#header[this.#headerBytes++] = chunk[offset] ?? 0;
    if (this.#headerBytes === this.#headerLength()) this.#payloadBytes = this.#payloadLength();
    return 1;
  }

  #isFrameWhole(): boolean {
    return this.#headerBytes === this.#headerLength() && this.#payloadBytes === 0;
  }

  /** The header's length, as far as its first two bytes tell. */
  #headerLength(): number {
    if (this.#headerBytes < 2) return 2;
    const second = this.#header[1] ?? 0;
    const length = second & 0x7f;
    const extendedLength = length === 126 ? 2 : length === 127 ? 8 : 0;
    return 2 + extendedLength + (second & 0x80 ? 4 : 0);
  }

  #payloadLength(): number {
    const length = (this.#header[1] ?? 0) & 0x7f;
    if (length === 126) return this.#header.readUInt16BE(2);
    return length === 127 ? Number(this.#header.readBigUInt64BE(2)) : length;
  }
}
