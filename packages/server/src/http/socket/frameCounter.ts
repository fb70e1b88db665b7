/** The longest frame header: two bytes, eight of an extended length, four of a mask (RFC 6455, 5.2). */
const MAX_HEADER_BYTES = 14;

/** Counts the frames of a WebSocket in its raw bytes. It skips their payloads, which the `ws` library validates. */
export class FrameCounter {
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
  /** Bytes of the current header that have arrived. */
  #headerBytes = 0;
  /** Bytes of the current payload that have not arrived. */
  #payloadBytes = 0;

  /** @returns the number of frame headers that end in this chunk. */
  count(chunk: Buffer): number {
    let frames = 0;
    for (let offset = 0; offset < chunk.length; ) {
      if (this.#payloadBytes > 0) {
        const skipped = Math.min(this.#payloadBytes, chunk.length - offset);
        this.#payloadBytes -= skipped;
        offset += skipped;
        continue;
      }
      this.#header[this.#headerBytes++] = chunk[offset++] ?? 0;
      if (this.#headerBytes < this.#headerLength()) continue;
      frames++;
      this.#payloadBytes = this.#payloadLength();
      this.#headerBytes = 0;
    }
    return frames;
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
