import { bytesToHex, type Hex } from "../encoding/hex.js";
import { ResultReader, UnexpectedResultError } from "../policy/resultReader.js";

/** The reason of a revert, as far as its data tells. */
export interface Revert {
  /** `error`: a text; `panic`: a fault that the compiler checks for; `custom`: an error of the contract's own; `empty`: no data. */
  readonly kind: "error" | "panic" | "custom" | "empty";
  /** The contract's text, or a description of the data. */
  readonly message: string;
}

/**
 * Finds the returned data of a reverted call in the `data` of a node's error. Some nodes nest it a level or two
 * deeper.
 * @example
 * ```ts
 * const data = revertDataIn(nodeError.data);
 * if (data !== undefined) console.log(decodeRevert(hexToBytes(data)).message);
 * ```
 */
export function revertDataIn(data: unknown): Hex | undefined {
  let inner = data;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (typeof inner === "string") return /^0x([0-9a-f]{2})*$/i.test(inner) ? (inner as Hex) : undefined;
    if (typeof inner !== "object" || inner === null || !("data" in inner)) return undefined;
    inner = inner.data;
  }
  return undefined;
}

const MAX_DEPTH = 4;
const ERROR = "0x08c379a0";
const PANIC = "0x4e487b71";
/** People read the text, so it is cut at this length. */
const MAX_CHARACTERS = 1_000;

/** The codes of Panic(uint256), as the Solidity documentation has them. */
const PANICS: Readonly<Record<string, string>> = {
  "1": "a failed assertion",
  "17": "an arithmetic overflow or underflow",
  "18": "a division by zero",
  "33": "a value that the enum does not have",
  "34": "a storage byte array that is wrongly encoded",
  "49": "a pop from an empty array",
  "50": "an index out of bounds",
  "65": "too much memory",
  "81": "a call of a function that was not set",
};

/**
 * Decodes the data of a revert: Solidity's Error(string) and Panic(uint256), or an error of the contract's own.
 * @example
 * ```ts
 * console.log(decodeRevert(hexToBytes(resultHex)).message); // "insufficient allowance"
 * ```
 */
export function decodeRevert(data: Uint8Array): Revert {
  if (data.length === 0) return { kind: "empty", message: "without a reason" };
  const text = revertText(data);
  if (text !== undefined) return { kind: "error", message: shorten(text) };
  const panic = readPanic(data);
  if (panic !== undefined) return panic;
  return data.length < 4
    ? { kind: "custom", message: `with the data ${bytesToHex(data)}` }
    : { kind: "custom", message: `with the contract's own error ${bytesToHex(data.subarray(0, 4))}` };
}

/**
 * Returns the whole text of Solidity's Error(string), or undefined for any other data. {@link decodeRevert}
 * shortens it.
 * @example
 * ```ts
 * const text = revertText(hexToBytes(resultHex));
 * ```
 */
export function revertText(data: Uint8Array): string | undefined {
  return argumentOf(ERROR, data, (argument) => argument.text());
}

/**
 * Returns the code of Solidity's Panic(uint256), or undefined for any other data.
 * @example
 * ```ts
 * panicCodeOf(hexToBytes(resultHex)); // 17n for an arithmetic overflow
 * ```
 */
export function panicCodeOf(data: Uint8Array): bigint | undefined {
  return argumentOf(PANIC, data, (argument) => argument.uint());
}

function readPanic(data: Uint8Array): Revert | undefined {
  const code = panicCodeOf(data);
  if (code === undefined) return undefined;
  const meaning = PANICS[code.toString()] ?? "a fault of another kind";
  return { kind: "panic", message: `panic 0x${code.toString(16).padStart(2, "0")}: ${meaning}` };
}

/**
 * Reads the argument behind a selector; undefined for another selector, and for data that does not fit it.
 */
function argumentOf<T>(selector: Hex, data: Uint8Array, read: (argument: ResultReader) => T): T | undefined {
  if (bytesToHex(data.subarray(0, 4)) !== selector) return undefined;
  try {
    return read(new ResultReader(data.subarray(4)));
  } catch (error) {
    if (error instanceof UnexpectedResultError) return undefined;
    throw error;
  }
}

/** The text of a contract can be anything: control characters are replaced, and it is cut. */
function shorten(text: string): string {
  const start = text.slice(0, MAX_CHARACTERS).replace(/[\p{Cc}\p{Cs}]/gu, " ");
  return text.length > MAX_CHARACTERS ? `${start}…` : start;
}
