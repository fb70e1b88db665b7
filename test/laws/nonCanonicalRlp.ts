import { countItems, fieldsTree, type RlpTree } from "./rlpTree.js";

/** Encodings of an item that canonical RLP forbids (D2). */
export const FAULTS = ["leading zero", "long form", "padded length", "prefixed byte"] as const;
export type Fault = (typeof FAULTS)[number];

/** The positions of the integers among the fields of a signed transaction, by its first byte. */
const INTEGERS: Readonly<Record<number, readonly number[]>> = {
  1: [0, 1, 2, 3, 5, 8, 9, 10],
  2: [0, 1, 2, 3, 4, 6, 9, 10, 11],
};
const LEGACY_INTEGERS = [0, 1, 2, 4, 6, 7, 8];

/**
 * Encodes a transaction again, with one item in a form that is not canonical and with the correct lengths around it.
 * `at` chooses the item. A fault that the item cannot have becomes a long form.
 */
export function withFault(raw: Uint8Array, fault: Fault, at: number): Uint8Array {
  const { type, fields } = fieldsTree(raw);
  const integers = type === undefined ? LEGACY_INTEGERS : (INTEGERS[type] ?? []);
  const count = countItems(fields);
  let itemsBefore = at % count;
  let field = -1;

  const encode = (item: RlpTree, depth: number): Uint8Array => {
    if (depth === 1) field++;
    const chosen = itemsBefore-- === 0;
    const isInteger = depth === 1 && integers.includes(field);
    if (item instanceof Uint8Array) {
      if (!chosen) return withHeader(item, 0x80);
      if (fault === "leading zero" && isInteger) return withHeader(Uint8Array.of(0, ...item), 0x80);
      if (fault === "prefixed byte" && isSingle(item)) return Uint8Array.of(0x81, ...item);
      return withLongHeader(item, 0x80, fault === "padded length");
    }
    const payload = join(item.map((child) => encode(child, depth + 1)));
    return chosen ? withLongHeader(payload, 0xc0, fault === "padded length") : withHeader(payload, 0xc0);
  };

  const payload = encode(fields, 0);
  return type === undefined ? payload : Uint8Array.of(type, ...payload);
}

const isSingle = (bytes: Uint8Array) => bytes.length === 1 && (bytes[0] ?? 0) < 0x80;

const join = (parts: readonly Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));

function lengthBytes(length: number): number[] {
  return length < 256 ? [length] : [...lengthBytes(Math.floor(length / 256)), length % 256];
}

function withHeader(payload: Uint8Array, offset: number): Uint8Array {
  if (offset === 0x80 && isSingle(payload)) return payload;
  if (payload.length < 56) return Uint8Array.of(offset + payload.length, ...payload);
  const length = lengthBytes(payload.length);
  return Uint8Array.of(offset + 55 + length.length, ...length, ...payload);
}

/** A long form although the short one fits, or a long form whose length has a leading zero. */
function withLongHeader(payload: Uint8Array, offset: number, padded: boolean): Uint8Array {
  const length = lengthBytes(payload.length);
  if (padded || payload.length >= 56) length.unshift(0);
  return Uint8Array.of(offset + 55 + length.length, ...length, ...payload);
}
