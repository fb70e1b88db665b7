import { concatBytes, encodeRlp, type RlpItem } from "@gas-waiver/protocol";
import fc from "fast-check";
import { fromRlp } from "viem";
import { bytes, CURVE_ORDER, HIGHEST_S, type Mutation, UINT64, UINT256 } from "./arbitraries.js";

type Tree = Uint8Array | readonly Tree[];

/** Values at which a field stops being one: lengths of addresses, keys and integers, and ends of ranges. */
const edgeInteger = fc.constantFrom(
  ...[0n, 1n, 2n, 26n, 27n, 29n, 34n, 35n],
  ...[UINT64 - 1n, UINT64, UINT64 + 1n, UINT256, UINT256 + 1n],
  ...[HIGHEST_S, HIGHEST_S + 1n, CURVE_ORDER - 1n, CURVE_ORDER],
);
const newItem: fc.Arbitrary<RlpItem> = fc.oneof(
  edgeInteger,
  fc.constantFrom(0, 1, 19, 20, 21, 31, 32, 33).chain((length) => bytes(length)),
  fc.constantFrom<RlpItem>([], [[]], [new Uint8Array(20), []]),
);

type Edit = "replace" | "insert" | "remove";

function countItems(item: Tree): number {
  return item instanceof Uint8Array ? 1 : item.reduce((count, child) => count + countItems(child), 1);
}

/** The signed bytes with one item of their tree replaced, removed or preceded by another; canonical all the same. */
function edited(raw: Uint8Array, edit: Edit, at: number, item: RlpItem): Uint8Array {
  const typed = (raw[0] ?? 0) < 0xc0;
  const fields = fromRlp(typed ? raw.subarray(1) : raw, "bytes") as Tree;
  // Not the list around everything.
  let left = 1 + (at % (countItems(fields) - 1));
  const walk = (tree: Tree): RlpItem[] => {
    const chosen = left-- === 0;
    const same = tree instanceof Uint8Array ? tree : tree.flatMap(walk);
    if (!chosen) return [same];
    return { replace: [item], insert: [item, same], remove: [] }[edit];
  };
  const [tree = []] = walk(fields);
  return typed ? concatBytes(raw.subarray(0, 1), encodeRlp(tree)) : encodeRlp(tree);
}

/** A change to what signed bytes say rather than to the bytes: another value, or another number of items. */
export const treeEdit: fc.Arbitrary<Mutation> = fc
  .tuple(fc.constantFrom<Edit[]>("replace", "replace", "insert", "remove"), fc.nat({ max: 1_000 }), newItem)
  .map(
    ([edit, at, item]) =>
      (raw) =>
        edited(raw, edit, at, item),
  );
