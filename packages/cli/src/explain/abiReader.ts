import {
  bytesToHex,
  checksumAddress,
  type Hex,
  hexToBytes,
  InvalidHexError,
  ResultReader,
  UnexpectedResultError,
} from "@gas-waiver/protocol";

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
const SELECTOR_BYTES = 4;

/** Reads the arguments of a call or an error, which anybody can have written; undefined if they are not of these types. */
export function readArguments(
  parameters: readonly AbiParameter[],
  data: Hex,
): readonly AbiValue[] | undefined {
  let count = 0;
  const tuple = (members: readonly AbiParameter[], reader: ResultReader): AbiValue[] =>
    members.map((member) => read(member, isDynamic(member) ? reader.follow() : reader));
  const read = ({ type, components = [], ...rest }: AbiParameter, reader: ResultReader): AbiValue => {
    if (++count > MAX_VALUES) throw new UnexpectedResultError("too many values");
    const [, element, given] = /^(.*)\[(\d*)\]$/.exec(type) ?? [];
    if (element !== undefined) {
      const { length, items } = given === "" ? reader.list() : { length: Number(given), items: reader };
      if (length > MAX_VALUES) throw new UnexpectedResultError("too many elements");
      const one = { ...rest, type: element, ...(components.length > 0 && { components }) };
      return tuple(Array<AbiParameter>(length).fill(one), items);
    }
    if (type === "tuple") return tuple(components, reader);
    if (type === "bytes") return bytesToHex(reader.bytes());
    if (type === "string") return JSON.stringify(new TextDecoder().decode(reader.bytes()));
    return wordText(type, bytesToHex(reader.word()).slice(2));
  };
  try {
    return tuple(parameters, new ResultReader(hexToBytes(data).subarray(SELECTOR_BYTES)));
  } catch (error) {
    if (error instanceof UnexpectedResultError || error instanceof InvalidHexError) return undefined;
    throw error;
  }
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
