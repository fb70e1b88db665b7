import { fromRlp } from "viem";

/** An RLP item: bytes, or a list of items. */
export type RlpTree = Uint8Array | readonly RlpTree[];

/** The number of items in a tree, lists and the tree itself included. */
export function countItems(item: RlpTree): number {
  return item instanceof Uint8Array ? 1 : item.reduce((count, child) => count + countItems(child), 1);
}

/** A signed transaction as its type byte, if it has one, and the tree of its fields. */
export function fieldsTree(raw: Uint8Array): { readonly type: number | undefined; readonly fields: RlpTree } {
  const type = (raw[0] ?? 0) < 0xc0 ? (raw[0] ?? 0) : undefined;
  return { type, fields: fromRlp(type === undefined ? raw : raw.subarray(1), "bytes") as RlpTree };
}
