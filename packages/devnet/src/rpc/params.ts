import { bytesToHex, type Hex, hexToBytes, InvalidHexError } from "@gas-waiver/protocol";
import { invalidParams } from "./errors.js";

// Functions that read parameters. Each takes a value and its name, and throws an "invalid params" error with
// the name and the problem.

const UINT64 = 2n ** 64n;
const UINT256 = 2n ** 256n;

/** The unchecked members of an object. */
export type Members = Readonly<Record<string, unknown>>;

export function object(value: unknown, name: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidParams(`${name} is ${shortJson(value)}, not an object`);
  }
  return value as Members;
}

export function bytes(value: unknown, name: string, length?: number): Uint8Array {
  if (typeof value !== "string") throw invalidParams(`${name} is ${shortJson(value)}, not 0x hex`);
  let read: Uint8Array;
  try {
    read = hexToBytes(value);
  } catch (error) {
    if (error instanceof InvalidHexError) throw invalidParams(`${name} is not 0x hex: ${error.message}`);
    throw error;
  }
  if (length !== undefined && read.length !== length) {
    throw invalidParams(`${name} has ${read.length} bytes, not ${length}`);
  }
  return read;
}

export function address(value: unknown, name = "address"): Uint8Array {
  return bytes(value, name, 20);
}

/** 32 bytes, as lower-case hex. */
export function hash(value: unknown, name = "hash"): Hex {
  return bytesToHex(bytes(value, name, 32));
}

/** Reads an unsigned integer in 0x hex. Leading zeros are accepted, because wallets send them. */
export function quantity(value: unknown, name: string, below = UINT256): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) {
    throw invalidParams(`${name} is ${shortJson(value)}, not an integer in 0x hex`);
  }
  const read = BigInt(value);
  if (read >= below) throw invalidParams(`${name} is ${value}, which is too large`);
  return read;
}

export function uint64(value: unknown, name: string): bigint {
  return quantity(value, name, UINT64);
}

export function boolean(value: unknown, name: string): boolean {
  if (typeof value !== "boolean") throw invalidParams(`${name} is ${shortJson(value)}, not true or false`);
  return value;
}

/** Reads a value, or returns the fallback if the value is missing or null. */
export function optional<T, D>(value: unknown, fallback: D, read: (value: unknown) => T): T | D {
  return value === undefined || value === null ? fallback : read(value);
}

/** The value as JSON for a message, at most 80 characters. */
export function shortJson(value: unknown): string {
  if (value === undefined) return "missing";
  const text = toText(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function toText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // JSON.stringify is recursive and overflows the stack on deep nesting. JSON.parse is not.
    return Array.isArray(value) ? "a list nested too deeply" : "an object nested too deeply";
  }
}
