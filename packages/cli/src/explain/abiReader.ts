import { checksumAddress, type Hex, hexToBytes } from "@gas-waiver/protocol";

/** A parameter of a function or error, as Solidity's compiler writes it. */
export interface AbiParameter {
  readonly name?: string;
  readonly type: string;
  /** The members of a tuple. */
  readonly components?: readonly AbiParameter[];
}

/** A number or other word as text, or the values of a list or tuple. */
export type AbiValue = string | readonly AbiValue[];

/** The values of one piece of data. Lists of lists may lead to the same bytes, so that few bytes have very many values. */
const MAX_VALUES = 10_000;
const WORD_DIGITS = 64;

class UnreadableDataError extends Error {}

/** Reads the arguments of a call or an error. Anybody can have written them. */
export class AbiReader {
  readonly #digits: string;
  #values = 0;

  /** @param digits hex without 0x, behind the selector. */
  constructor(digits: string) {
    this.#digits = digits;
  }

  /** Reads all values; undefined if the data are not of these types. */
  tuple(parameters: readonly AbiParameter[]): readonly AbiValue[] | undefined {
    try {
      return this.#tuple(parameters, 0);
    } catch (error) {
      if (error instanceof UnreadableDataError) return undefined;
      throw error;
    }
  }

  /** @param base the byte at which the tuple begins, from which its offsets count. */
  #tuple(parameters: readonly AbiParameter[], base: number): AbiValue[] {
    let head = base;
    return parameters.map((parameter) => {
      const place = isDynamic(parameter) ? base + this.#count(head) : head;
      head += headBytes(parameter);
      return this.#value(parameter, place);
    });
  }

  #value({ type, components = [], ...rest }: AbiParameter, place: number): AbiValue {
    if (++this.#values > MAX_VALUES) throw new UnreadableDataError();
    const [, element, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? [];
    if (element !== undefined) {
      const count = length === "" ? this.#count(place) : Number(length);
      // A list cannot have more elements than the data have words, unless they are empty.
      if (count > MAX_VALUES) throw new UnreadableDataError();
      const one = { ...rest, type: element, ...(components.length > 0 && { components }) };
      return this.#tuple(Array<AbiParameter>(count).fill(one), length === "" ? place + 32 : place);
    }
    if (type === "tuple") return this.#tuple(components, place);
    if (type === "bytes" || type === "string") {
      const bytes: Hex = `0x${this.#slice(place + 32, 2 * this.#count(place))}`;
      return type === "bytes" ? bytes : quotedText(new TextDecoder().decode(hexToBytes(bytes)));
    }
    return wordText(type, this.#slice(place, WORD_DIGITS));
  }

  /** Reads a length or an offset. */
  #count(place: number): number {
    const count = BigInt(`0x${this.#slice(place, WORD_DIGITS)}`);
    if (count > this.#digits.length) throw new UnreadableDataError();
    return Number(count);
  }

  #slice(place: number, digits: number): string {
    const slice = this.#digits.slice(2 * place, 2 * place + digits);
    if (slice.length < digits) throw new UnreadableDataError();
    return slice;
  }
}

/** Quotes a text for a terminal: JSON alone leaves the control characters from 127 on, and those that turn the direction. */
function quotedText(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

function wordText(type: string, word: string): string {
  if (type === "address") return checksumAddress(hexToBytes(`0x${word.slice(24)}`));
  if (type === "bool") return String(BigInt(`0x${word}`) !== 0n);
  if (type.startsWith("uint")) return BigInt(`0x${word}`).toString();
  if (type.startsWith("int")) return BigInt.asIntN(256, BigInt(`0x${word}`)).toString();
  const bytes = type === "function" ? 24 : Number(type.slice("bytes".length));
  return `0x${word.slice(0, 2 * bytes)}`;
}

function isDynamic({ type, components = [] }: AbiParameter): boolean {
  return /^(?:bytes|string)(?:\[|$)|\[\]/.test(type) || components.some(isDynamic);
}

/** The bytes that a value takes in its tuple: its own, or those of its offset. */
function headBytes(parameter: AbiParameter): number {
  if (isDynamic(parameter)) return 32;
  const { type, components } = parameter;
  const elements = [...type.matchAll(/\[(\d+)\]/g)].reduce(
    (product, [, length]) => product * Number(length),
    1,
  );
  return (
    elements * (components === undefined ? 32 : components.reduce((sum, one) => sum + headBytes(one), 0))
  );
}
