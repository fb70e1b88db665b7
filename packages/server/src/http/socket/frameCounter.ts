/** The longest frame header: two bytes, eight of an extended length, four of a mask (RFC 6455, 5.2). */
const MAX_HEADER_BYTES = 14;
const MASK_BYTES = 4;
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
 * Counts the frames and messages of a WebSocket in its raw bytes, before the `ws` library has a whole message. It takes the masks of
 * large frames off as the bytes come, and leaves masks of zeros: the library would unmask a whole frame at once, 31 MB in some 80 ms.
 * The library validates the payloads.
 */
export class FrameCounter {
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
  /** Bytes of the current header that have arrived. */
  #headerBytes = 0;
  /** Bytes of the current payload that have arrived, and those that have not. */
  #readBytes = 0;
  #payloadBytes = 0;
  /** A message has begun, and its last fragment has not ended. */
  #isInMessage = false;

  /** True if all bytes so far belong to whole messages, pings and pongs. */
  get isBetweenMessages(): boolean {
    return !this.#isInMessage && this.#headerBytes === 0;
  }

  /** The bytes of the current payload that have not arrived. */
  get missingBytes(): number {
    return this.#payloadBytes;
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
      if (this.#isLarge()) {
        const mask = this.#header.subarray(MAX_HEADER_BYTES - MASK_BYTES);
        unmask(chunk.subarray(offset, offset + bytes), mask, this.#readBytes);
      }
      this.#readBytes += bytes;
      this.#payloadBytes -= bytes;
      return bytes;
    }
    const at = this.#headerBytes++;
    this.#header[at] = chunk[offset] ?? 0;
    if (at >= MAX_HEADER_BYTES - MASK_BYTES && this.#isLarge()) chunk[offset] = 0;
    if (this.#headerBytes === this.#headerLength()) {
      this.#readBytes = 0;
      this.#payloadBytes = this.#payloadLength();
    }
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
    return 2 + extendedLength + (second & 0x80 ? MASK_BYTES : 0);
  }

  /** Whether the current frame is masked, and has a length of eight bytes: of 64 KiB or more. */
  #isLarge(): boolean {
    return this.#header[1] === 0xff;
  }

  #payloadLength(): number {
    const length = (this.#header[1] ?? 0) & 0x7f;
    if (length === 126) return this.#header.readUInt16BE(2);
    return length === 127 ? Number(this.#header.readBigUInt64BE(2)) : length;
  }
}

/**
 * Takes the mask off a part of a payload, most of it a word at a time.
 * @param from the bytes of the payload before this part.
 */
function unmask(bytes: Buffer, mask: Buffer, from: number): void {
  const { length, byteOffset } = bytes;
  const unmaskBytes = (first: number, end: number) => {
    for (let i = first; i < end; i++) bytes[i] = (bytes[i] ?? 0) ^ (mask[(from + i) % MASK_BYTES] ?? 0);
  };
  if (length < 2 * MASK_BYTES) {
    unmaskBytes(0, length);
    return;
  }
  const first = -byteOffset & 3;
  const words = new Uint32Array(bytes.buffer, byteOffset + first, (length - first) >> 2);
  const key = Uint8Array.from(mask, (_, i) => mask[(from + first + i) % MASK_BYTES] ?? 0);
  const [word = 0] = new Uint32Array(key.buffer);
  unmaskBytes(0, first);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  unmaskBytes(first + 4 * words.length, length);
}
