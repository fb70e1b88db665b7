/** The longest head of a frame: two bytes, eight of a length, four of a mask (RFC 6455, 5.2). */
const LONGEST_HEAD = 14;

/** Counts the frames of a WebSocket as their bytes pass by. What is in them is the library's to judge. */
export class FrameCounter {
  readonly #head = Buffer.alloc(LONGEST_HEAD);
  /** Bytes of the head under way. */
  #has = 0;
  /** Bytes of the payload under way that are still to come. */
  #payload = 0;

  /** How many heads are whole with this piece. */
  count(piece: Buffer): number {
    let heads = 0;
    for (let at = 0; at < piece.length; ) {
      if (this.#payload > 0) {
        const skipped = Math.min(this.#payload, piece.length - at);
        this.#payload -= skipped;
        at += skipped;
        continue;
      }
      this.#head[this.#has++] = piece[at++] ?? 0;
      if (this.#has < this.#headLength()) continue;
      heads++;
      this.#payload = this.#payloadLength();
      this.#has = 0;
    }
    return heads;
  }

  /** As far as its first two bytes tell. */
  #headLength(): number {
    if (this.#has < 2) return 2;
    const second = this.#head[1] ?? 0;
    const length = second & 0x7f;
    const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
    return 2 + extended + (second & 0x80 ? 4 : 0);
  }

  #payloadLength(): number {
    const length = (this.#head[1] ?? 0) & 0x7f;
    if (length === 126) return this.#head.readUInt16BE(2);
    return length === 127 ? Number(this.#head.readBigUInt64BE(2)) : length;
  }
}
