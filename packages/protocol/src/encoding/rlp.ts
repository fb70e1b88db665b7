import { ProtocolError } from "../protocolError.js";
import { bigIntToBytes, bytesToBigInt } from "./hex.js";

/** A value for RLP: bytes, an unsigned integer (written in shortest form), or a list of these. */
export type RlpItem = Uint8Array | bigint | readonly RlpItem[];

const EMPTY = new Uint8Array(0);
const TWO_TO_256 = 2n ** 256n;

/** The length of the longest header: one byte and a length of up to 8. */
const MAX_HEADER = 9;

/**
 * Encodes a value as canonical RLP (Yellow Paper, appendix B).
 * @example
 * ```ts
 * console.log(bytesToHex(encodeRlp([1n, hexToBytes("0xf333")]))); // "0xc40182f333"
 * ```
 */
export function encodeRlp(item: RlpItem): Uint8Array {
  const length = maxEncodedLength(item);
  const buffer = length > scratch.length ? new Uint8Array(length) : scratch;
  return buffer.slice(write(item, buffer, length), length);
}

/** Short encodings are written here first, because their length is not known before. */
const scratch: Uint8Array = /* @__PURE__ */ new Uint8Array(1_024);

/** Returns a length that the encoding does not exceed. */
function maxEncodedLength(item: RlpItem): number {
  if (typeof item === "bigint") return MAX_HEADER + (item < TWO_TO_256 ? 32 : item.toString(16).length);
  if (item instanceof Uint8Array) return MAX_HEADER + item.length;
  let length = MAX_HEADER;
  for (const element of item) length += maxEncodedLength(element);
  return length;
}

/**
 * Writes an item so that it ends at `end`, and returns where it begins. Lengths come first, so it writes
 * backwards.
 */
function write(item: RlpItem, buffer: Uint8Array, end: number): number {
  if (typeof item === "bigint") return writeBytes(bigIntToBytes(item), buffer, end);
  if (item instanceof Uint8Array) return writeBytes(item, buffer, end);
  let start = end;
  for (let i = item.length - 1; i >= 0; i--) start = write(item[i] ?? EMPTY, buffer, start);
  return writeHeader(end - start, 0xc0, buffer, start);
}

function writeBytes(bytes: Uint8Array, buffer: Uint8Array, end: number): number {
  const start = end - bytes.length;
  buffer.set(bytes, start);
  if (bytes.length === 1 && (bytes[0] ?? 0) < 0x80) return start;
  return writeHeader(bytes.length, 0x80, buffer, start);
}

function writeHeader(length: number, offset: 0x80 | 0xc0, buffer: Uint8Array, end: number): number {
  let start = end;
  if (length < 56) {
    buffer[--start] = offset + length;
    return start;
  }
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) buffer[--start] = rest % 256;
  const sizeOfLength = end - start;
  buffer[--start] = offset + 55 + sizeOfLength;
  return start;
}

interface Item {
  readonly kind: "bytes" | "list";
  readonly start: number;
  readonly end: number;
}

/**
 * Reads canonical RLP one item after the other (D2). It does not recurse, so depth costs nothing, and does not
 * copy: what it returns are views of the bytes it was given. Offsets in errors count from the start of `bytes`.
 * @throws {@link ProtocolError} `MALFORMED_RLP` or `NON_CANONICAL_RLP`, or `MALFORMED_TRANSACTION` for an integer of too many
 * bytes, and nothing else.
 * @example
 * ```ts
 * const fields = new RlpReader(hexToBytes("0xc40182f333")).list("the pair");
 * console.log(fields.integer("a number", 8), fields.bytes("an address"));
 * fields.finish("the pair");
 * ```
 */
export class RlpReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Tells whether every item has been read. */
  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** Enters the next item, which must be a list. */
  list(name: string): RlpReader {
    const item = this.#next(name);
    if (item.kind !== "list") {
      throw new ProtocolError("MALFORMED_RLP", `${name} is not an RLP list`, { offset: item.start });
    }
    return new RlpReader(this.#bytes, item.start, item.end);
  }

  /** Reads the next item, which must be a byte string. */
  bytes(name: string): Uint8Array {
    const item = this.#next(name);
    if (item.kind !== "bytes") {
      throw new ProtocolError("MALFORMED_RLP", `${name} is an RLP list, not a byte string`, {
        offset: item.start,
      });
    }
    return this.#bytes.subarray(item.start, item.end);
  }

  /** Reads the next item as an unsigned integer of at most `maxBytes` bytes, without leading zeros. */
  integer(name: string, maxBytes: number): bigint {
    return bytesToBigInt(this.integerBytes(name, maxBytes));
  }

  /** Reads an unsigned integer as big-endian bytes in their shortest form; 0 is no bytes. */
  integerBytes(name: string, maxBytes: number): Uint8Array {
    const offset = this.#at;
    const bytes = this.bytes(name);
    if (bytes[0] === 0) {
      throw new ProtocolError("NON_CANONICAL_RLP", `${name} has leading zeros`, { offset, field: name });
    }
    if (bytes.length > maxBytes) {
      throw new ProtocolError(
        "MALFORMED_TRANSACTION",
        `${name} has ${bytes.length} bytes, at most ${maxBytes} fit`,
        { offset, field: name, bytes: bytes.length, maxBytes },
      );
    }
    return bytes;
  }

  /** Reads past the next item, which must be a list, and asserts the form of everything in it. */
  skipList(name: string): void {
    const bytes = this.#bytes;
    // The ends of the lists around the current one. An attacker nests millions of them, so there is no recursion.
    const outerEnds: number[] = [];
    let reader = this.list(name);
    for (;;) {
      while (reader.done) {
        const outerEnd = outerEnds.pop();
        if (outerEnd === undefined) return;
        reader = new RlpReader(bytes, reader.#at, outerEnd);
      }
      if ((bytes[reader.#at] ?? 0) < 0x80) {
        reader.#at++;
        continue;
      }
      const item = reader.#next(`an item of ${name}`);
      if (item.kind === "bytes") continue;
      outerEnds.push(reader.#end);
      reader = new RlpReader(bytes, item.start, item.end);
    }
  }

  /** Asserts that no item follows. */
  finish(name: string): void {
    if (!this.done) {
      const extra = this.#end - this.#at;
      throw new ProtocolError("MALFORMED_RLP", `${name} is followed by ${extra} more byte(s)`, {
        offset: this.#at,
        extra,
      });
    }
  }

  #next(name: string): Item {
    const at = this.#at;
    const first = this.#bytes[at];
    if (at >= this.#end || first === undefined) {
      throw new ProtocolError("MALFORMED_RLP", `${name} is missing: the input ends before it`, {
        offset: at,
      });
    }
    if (first < 0x80) return this.#take("bytes", at, 1, name);
    const kind = first < 0xc0 ? "bytes" : "list";
    const shortLength = first - (kind === "bytes" ? 0x80 : 0xc0);
    if (shortLength > 55) return this.#long(kind, at, shortLength - 55, name);
    const item = this.#take(kind, at + 1, shortLength, name);
    if (kind === "bytes" && shortLength === 1 && (this.#bytes[at + 1] ?? 0) < 0x80) {
      throw new ProtocolError("NON_CANONICAL_RLP", `${name} has a prefix that a single byte must not have`, {
        offset: at,
      });
    }
    return item;
  }

  #long(kind: Item["kind"], at: number, sizeOfLength: number, name: string): Item {
    const start = at + 1 + sizeOfLength;
    if (start > this.#end) {
      throw new ProtocolError("MALFORMED_RLP", `the length of ${name} runs past the end of the input`, {
        offset: at,
      });
    }
    let length = 0;
    for (let i = at + 1; i < start; i++) length = length * 256 + (this.#bytes[i] ?? 0);
    if (this.#bytes[at + 1] === 0 || length < 56) {
      throw new ProtocolError(
        "NON_CANONICAL_RLP",
        `the length of ${name} is not written in its shortest form`,
        {
          offset: at,
        },
      );
    }
    return this.#take(kind, start, length, name);
  }

  #take(kind: Item["kind"], start: number, length: number, name: string): Item {
    const end = start + length;
    if (end > this.#end) {
      throw new ProtocolError(
        "MALFORMED_RLP",
        `${name} is ${length} bytes long, but only ${this.#end - start} follow`,
        { offset: start, length },
      );
    }
    this.#at = end;
    return { kind, start, end };
  }
}
