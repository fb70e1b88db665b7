import { deepStrictEqual, strictEqual } from "node:assert";
import {
  bytesToHex,
  decodeInnerTx,
  decodeTransaction,
  encodeRlp,
  encodeTransaction,
  hashTransaction,
  hexToBytes,
  ProtocolError,
  type RlpItem,
  RlpReader,
} from "@gas-waiver/protocol";
import { encodeRlp as ethersRlp } from "ethers";
import fc from "fast-check";
import { keccak256, serializeTransaction, type TransactionSerializable, toRlp } from "viem";
import {
  accessList,
  address,
  bytes,
  ORACLE_DOMAIN,
  signature,
  transaction,
  UINT256,
  uint,
  WHOLE_DOMAIN,
} from "./arbitraries.js";
import { type Law, law } from "./law.js";
import { fieldsOf, forViem, ORACLES } from "./oracles.js";
import type { RlpTree } from "./rlpTree.js";

const signed = (domain: typeof WHOLE_DOMAIN) => fc.record({ tx: transaction(domain), signature });

const { tree } = fc.letrec<{ tree: RlpTree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 5 }, bytes(0, 80), fc.array(tie("tree"), { maxLength: 5 })),
}));

const nestedHex = (item: RlpTree): NestedHex =>
  item instanceof Uint8Array ? bytesToHex(item) : item.map(nestedHex);
type NestedHex = `0x${string}` | NestedHex[];

/** Reads a tree of this shape back. */
function readLike(shape: RlpTree, reader: RlpReader): RlpTree {
  if (shape instanceof Uint8Array) return reader.bytes("bytes");
  const list = reader.list("list");
  const items = shape.map((child) => readLike(child, list));
  list.finish("list");
  return items;
}

function assertSameTree(a: RlpTree, b: RlpTree): void {
  deepStrictEqual(nestedHex(a), nestedHex(b));
}

const blobHash = bytes(31).map((rest) => bytesToHex(Uint8Array.of(1, ...rest)));

/** Transactions of types that the oracles know and the protocol refuses (D1): EIP-4844 and EIP-7702. */
const unsupported = fc.record({
  tx: transaction(ORACLE_DOMAIN).map((tx) => (tx.type === "eip1559" ? forViem(tx) : undefined)),
  typeFields: fc.oneof(
    fc.record({
      type: fc.constant("eip4844" as const),
      maxFeePerBlobGas: uint(UINT256),
      blobVersionedHashes: fc.array(blobHash, { minLength: 1, maxLength: 3 }),
      to: address.map(bytesToHex),
    }),
    fc.record({
      type: fc.constant("eip7702" as const),
      authorizationList: fc.array(
        fc.record({
          address: address.map(bytesToHex),
          chainId: fc.nat(),
          nonce: fc.nat(),
          r: bytes(32).map(bytesToHex),
          s: bytes(32).map(bytesToHex),
          yParity: fc.constantFrom(0, 1),
        }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  ),
  accessList,
  signature,
});

export const ENCODING_LAWS: readonly Law[] = [
  law(
    "viem and ethers decode the protocol's encoding to the same fields and the same hash",
    { cases: 3_500 },
    signed(ORACLE_DOMAIN),
    ({ tx, signature }) => {
      const raw = encodeTransaction(tx, signature);
      const ours = { ...tx, signature, raw };
      for (const oracle of ORACLES) deepStrictEqual(oracle.decode(raw), fieldsOf(ours), oracle.name);
      strictEqual(bytesToHex(hashTransaction(ours)), keccak256(raw));
    },
  ),
  law(
    "viem and ethers encode the same bytes as the protocol, which decodes them to the same fields",
    { cases: 3_500 },
    signed(ORACLE_DOMAIN),
    ({ tx, signature }) => {
      const ours = bytesToHex(encodeTransaction(tx, signature));
      for (const oracle of ORACLES) {
        const theirs = oracle.encode(tx, signature);
        strictEqual(theirs, ours, oracle.name);
        const raw = hexToBytes(theirs);
        deepStrictEqual(fieldsOf(decodeTransaction(raw)), fieldsOf({ ...tx, signature, raw }), oracle.name);
      }
    },
  ),
  law(
    "decoding an encoding gives the same fields, over the whole range of D2",
    { cases: 8_000 },
    signed(WHOLE_DOMAIN),
    ({ tx, signature }) => {
      const raw = encodeTransaction(tx, signature);
      deepStrictEqual(fieldsOf(decodeTransaction(raw)), fieldsOf({ ...tx, signature, raw }));
    },
  ),
  law(
    "an InnerTx is refused as unprotected if and only if its signature names no chain",
    { cases: 2_000 },
    signed(WHOLE_DOMAIN),
    ({ tx, signature }) => {
      const raw = encodeTransaction(tx, signature);
      if (tx.chainId !== undefined) strictEqual(decodeInnerTx(raw).chainId, tx.chainId);
      else
        strictEqual(
          reasonOf(() => decodeInnerTx(raw)),
          "UNPROTECTED_SIGNATURE",
        );
    },
  ),
  law(
    "a signed EIP-4844 or EIP-7702 transaction is an unsupported type",
    { cases: 1_000 },
    unsupported,
    ({ tx, typeFields, signature: { compact, yParity } }) => {
      const base = { chainId: 2201, nonce: 0, ...tx, ...typeFields };
      const raw = hexToBytes(
        serializeTransaction(base as TransactionSerializable, {
          r: bytesToHex(compact.subarray(0, 32)),
          s: bytesToHex(compact.subarray(32)),
          yParity,
        }),
      );
      strictEqual(raw[0], typeFields.type === "eip4844" ? 3 : 4);
      strictEqual(
        reasonOf(() => decodeTransaction(raw)),
        "UNSUPPORTED_TYPE",
      );
    },
  ),
  law(
    "RLP has the same bytes as in viem and ethers, and reads back the same",
    { cases: 4_000 },
    tree,
    (item) => {
      const encoded = encodeRlp(item as RlpItem);
      strictEqual(bytesToHex(encoded), toRlp(nestedHex(item)));
      strictEqual(bytesToHex(encoded), ethersRlp(nestedHex(item)));
      const reader = new RlpReader(encoded);
      assertSameTree(readLike(item, reader), item);
      reader.finish("the item");
    },
  ),
];

/** The reason of the ProtocolError that a call throws. Other errors pass through. */
export function reasonOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return error.reason;
    throw error;
  }
}
