// The part of the contract ABI that the WaiverRegistry needs (D12). It is written by hand: fewer than 200 lines, where a
// library for any ABI has many thousands.

import { crypto } from "../crypto/crypto.js";
import { bytesToBigInt, bytesToHex, concatBytes, type Hex, hexToBytes } from "../encoding/hex.js";
import type { AllowedTarget } from "./AllowedTarget.js";

const WORD = 32;
const text = new TextEncoder();

/**
 * Returns the selector of a function signature: the first four bytes of its hash.
 * @example
 * ```ts
 * console.log(selectorOfSignature("transfer(address,uint256)")); // "0xa9059cbb"
 * ```
 */
export function selectorOfSignature(signature: string): Hex {
  return bytesToHex(crypto.keccak256(text.encode(signature)).subarray(0, 4));
}

/**
 * Returns the first topic (32 bytes) of an event's logs: the hash of its signature.
 * @example
 * ```ts
 * const topic = topicOf("WaiverRevoked(address)");
 * ```
 */
export function topicOf(signature: string): Hex {
  return bytesToHex(crypto.keccak256(text.encode(signature)));
}

/** An argument of a call. Addresses are 20 bytes. */
export type Argument = bigint | boolean | Uint8Array | readonly AllowedTarget[];

/**
 * Encodes the calldata of a function: its selector and its arguments.
 * @example
 * ```ts
 * const data = encodeCall("transfer(address,uint256)", token, 10n ** 18n);
 * ```
 */
export function encodeCall(signature: string, ...values: readonly Argument[]): Uint8Array {
  return concatBytes(hexToBytes(selectorOfSignature(signature)), encodeTuple(values.map(encodeArgument)));
}

/** An encoded value. A dynamic one lies behind the others, and its offset stands in its place. */
interface Encoded {
  readonly dynamic: boolean;
  readonly bytes: Uint8Array;
}

function encodeArgument(value: Argument): Encoded {
  if (typeof value === "bigint") return word(value);
  if (typeof value === "boolean") return word(value ? 1n : 0n);
  if (value instanceof Uint8Array) return word(bytesToBigInt(value));
  return encodeArray(value.map(encodeTarget));
}

function word(value: bigint): Encoded {
  return { dynamic: false, bytes: hexToBytes(`0x${value.toString(16).padStart(2 * WORD, "0")}`) };
}

function encodeArray(items: readonly Encoded[]): Encoded {
  return { dynamic: true, bytes: concatBytes(word(BigInt(items.length)).bytes, encodeTuple(items)) };
}

function encodeTuple(items: readonly Encoded[]): Uint8Array {
  let tail = items.reduce((length, { dynamic, bytes }) => length + (dynamic ? WORD : bytes.length), 0);
  const heads: Uint8Array[] = [];
  const tails: Uint8Array[] = [];
  for (const { dynamic, bytes } of items) {
    heads.push(dynamic ? word(BigInt(tail)).bytes : bytes);
    if (!dynamic) continue;
    tails.push(bytes);
    tail += bytes.length;
  }
  return concatBytes(...heads, ...tails);
}

/** `struct AllowedTarget { address target; bool anyTarget; bool anySelector; bytes4[] selectors; }` */
function encodeTarget({ address, selectors }: AllowedTarget): Encoded {
  const list = (selectors ?? []).map((selector) => ({
    dynamic: false,
    bytes: concatBytes(selector, new Uint8Array(WORD - 4)),
  }));
  const target = address === "*" ? 0n : bytesToBigInt(address);
  const flags = [address === "*", selectors === undefined].map(encodeArgument);
  return { dynamic: true, bytes: encodeTuple([word(target), ...flags, encodeArray(list)]) };
}
