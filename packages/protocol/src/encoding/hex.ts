/** A 0x-prefixed string of hexadecimal digits. Hex lives at the edges only; inside, bytes are `Uint8Array`. */
export type Hex = `0x${string}`;

const HEX_DIGITS: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

const HEX_CODES = Uint8Array.from(HEX_DIGITS.join(""), (character) => character.charCodeAt(0));
/** Up to this many bytes, adding strings is faster than a decoder. */
const MAX_SHORT_BYTES = 16;
const ascii = new TextDecoder();

/**
 * Writes bytes as 0x-prefixed lower-case hex.
 * @example
 * ```ts
 * console.log(bytesToHex(Uint8Array.of(0xf3, 0x33))); // "0xf333"
 * ```
 */
export function bytesToHex(bytes: Uint8Array): Hex {
  if (bytes.length > MAX_SHORT_BYTES) return longToHex(bytes);
  let hex = "";
  for (const byte of bytes) hex += HEX_DIGITS[byte];
  return `0x${hex}`;
}

/** Writes the characters themselves: a string that grows by two costs 5 times as much, and 30 times the memory. */
function longToHex(bytes: Uint8Array): Hex {
  const codes = new Uint8Array(2 * bytes.length);
  let at = 0;
  for (const byte of bytes) {
    codes[at++] = HEX_CODES[2 * byte] ?? 0;
    codes[at++] = HEX_CODES[2 * byte + 1] ?? 0;
  }
  return `0x${ascii.decode(codes)}`;
}

/** The value of one hexadecimal digit by its character code, or -1. */
function digit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  if (code >= 65 && code <= 70) return code - 55;
  return -1;
}

/** Thrown by {@link hexToBytes}: the text is not 0x-prefixed hex of whole bytes. */
export class InvalidHexError extends Error {
  override readonly name = "InvalidHexError";
  /** The index of the first character that is wrong, or of the end where something is missing. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/**
 * Reads a 0x-prefixed hex string of even length, upper or lower case.
 * @throws {@link InvalidHexError} that names the first fault and its position.
 * @example
 * ```ts
 * const raw = hexToBytes(signedHex);
 * ```
 */
export function hexToBytes(hex: string): Uint8Array {
  if (!hex.startsWith("0x")) throw new InvalidHexError("it does not begin with 0x", 0);
  if (hex.length % 2 !== 0) {
    throw new InvalidHexError(`it has an odd number of hex digits (${hex.length - 2})`, hex.length);
  }
  const bytes = new Uint8Array(hex.length / 2 - 1);
  for (let i = 0; i < bytes.length; i++) {
    const high = digit(hex.charCodeAt(2 * i + 2));
    const low = digit(hex.charCodeAt(2 * i + 3));
    if (high < 0 || low < 0) {
      const at = high < 0 ? 2 * i + 2 : 2 * i + 3;
      throw new InvalidHexError(`character ${at} is not a hex digit`, at);
    }
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

/**
 * Tells whether two byte strings are the same. Not for secrets: the time depends on the bytes.
 * @example
 * ```ts
 * console.log(bytesEqual(recoverSender(tx), waiver.address));
 * ```
 */
export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Joins byte strings in the order given.
 * @example
 * ```ts
 * const calldata = concatBytes(hexToBytes("0xa9059cbb"), new Uint8Array(64));
 * ```
 */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * Reads big-endian bytes as an unsigned integer; no bytes are 0.
 * @example
 * ```ts
 * console.log(bytesToBigInt(Uint8Array.of(1, 0))); // 256n
 * ```
 */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  if (bytes.length > MAX_EXACT_BYTES)
    return bytes.length > 32 ? BigInt(bytesToHex(bytes)) : wordToBigInt(bytes);
  let value = 0;
  for (const byte of bytes) value = 256 * value + byte;
  return BigInt(value);
}

/** A Number holds an integer of so many bytes exactly. */
const MAX_EXACT_BYTES = 6;
const word: DataView = /* @__PURE__ */ new DataView(/* @__PURE__ */ new ArrayBuffer(32));

/** Reads at most 32 bytes. By way of hex it takes three times as long and leaves ten times the garbage. */
function wordToBigInt(bytes: Uint8Array): bigint {
  const start = 32 - bytes.length;
  for (let i = 0; i < start; i++) word.setUint8(i, 0);
  for (let i = start; i < 32; i++) word.setUint8(i, bytes[i - start] ?? 0);
  const low = (word.getBigUint64(16) << 64n) | word.getBigUint64(24);
  if (start >= 16) return low;
  return (((word.getBigUint64(0) << 64n) | word.getBigUint64(8)) << 128n) | low;
}

/**
 * Writes an unsigned integer as its shortest big-endian bytes; 0 is no bytes, as in RLP.
 * @throws RangeError on a negative value.
 * @example
 * ```ts
 * console.log(bigIntToBytes(256n)); // Uint8Array [1, 0]
 * ```
 */
export function bigIntToBytes(value: bigint): Uint8Array {
  if (value < 0n) throw new RangeError(`an unsigned integer cannot be ${value}`);
  if (value < TWO_TO_32) return numberToBytes(Number(value));
  const hex = value.toString(16);
  return hexToBytes(`0x${hex.length % 2 === 0 ? "" : "0"}${hex}`);
}

const TWO_TO_32 = 2n ** 32n;

/** The shortest big-endian bytes of an integer of at most 32 bits. */
function numberToBytes(value: number): Uint8Array {
  let length = 0;
  for (let rest = value; rest > 0; rest >>>= 8) length++;
  const bytes = new Uint8Array(length);
  for (let i = length - 1, rest = value; i >= 0; i--, rest >>>= 8) bytes[i] = rest & 0xff;
  return bytes;
}
