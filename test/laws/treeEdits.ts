import { concatBytes, encodeRlp, type RlpItem } from "@gas-waiver/protocol";
import fc from "fast-check";
import { bytes, CURVE_ORDER, HIGHEST_S, type Mutation, UINT64, UINT256 } from "./arbitraries.js";
import { countItems, fieldsTree, type RlpTree } from "./rlpTree.js";

/** Integers at the ends of the ranges of fields. */
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

/** Replaces or removes one item of a signed transaction, or inserts another before it. The result is canonical RLP. */
function edited(raw: Uint8Array, edit: Edit, at: number, item: RlpItem): Uint8Array {
  const { type, fields } = fieldsTree(raw);
  // The list of all fields is never chosen.
  let itemsBefore = 1 + (at % (countItems(fields) - 1));
  const walk = (tree: RlpTree): RlpItem[] => {
    const chosen = itemsBefore-- === 0;
    const unchanged = tree instanceof Uint8Array ? tree : tree.flatMap(walk);
    if (!chosen) return [unchanged];
    return { replace: [item], insert: [item, unchanged], remove: [] }[edit];
  };
  const [tree = []] = walk(fields);
  return type === undefined ? encodeRlp(tree) : concatBytes(Uint8Array.of(type), encodeRlp(tree));
}

/** Changes a field's value or the number of fields, where {@link Mutation}s of bytes would break the encoding. */
export const treeEdit: fc.Arbitrary<Mutation> = fc
  .tuple(fc.constantFrom<Edit[]>("replace", "replace", "insert", "remove"), fc.nat({ max: 1_000 }), newItem)
  .map(
    ([edit, at, item]) =>
      (raw) =>
        edited(raw, edit, at, item),
  );
