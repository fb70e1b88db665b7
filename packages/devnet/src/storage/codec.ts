import { type NestedUint8Array, RLP } from "@ethereumjs/rlp";
import {
  bigIntToBytes,
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  type Hex,
  hexToBytes,
} from "@gas-waiver/protocol";
import { SealedBlock } from "../block/block.js";
import { bytes, type Item, list, type RlpFields } from "../block/packing.js";
import type { JournalEntry } from "../chain/journal.js";
import type { StateChanges } from "../state/overlay.js";
import type { AccountRecord } from "../state/reader.js";

// Encodes and decodes the records of the log. A record is one byte for its kind, then RLP.

export const KIND = { genesis: 0, block: 1, patch: 2, rollBack: 3 } as const;

const HASH_BYTES = 32;

/** The place of the block's number in the list of a header. */
const NUMBER_IN_HEADER = 8;

export function encodeGenesis(chainId: bigint, genesis: SealedBlock): Uint8Array {
  return record(KIND.genesis, [bigIntToBytes(chainId), genesis.headerBytes]);
}

export function decodeGenesis(payload: Uint8Array): { chainId: bigint; genesis: SealedBlock } {
  const [chainId, header] = fieldsOf(payload);
  return { chainId: bytesToBigInt(bytes(chainId)), genesis: new SealedBlock(0, bytes(header), []) };
}

export function encodeBlock(block: SealedBlock, changes: StateChanges): Uint8Array {
  const hashes = block.transactions.map(({ tx }) => hexToBytes(tx.hash));
  return record(KIND.block, [
    block.headerBytes,
    // A restart does not decode the packed transactions. The ledger only needs their hashes.
    block.packed(),
    concatBytes(...hashes),
    encodeChanges(changes),
  ]);
}

export function encodePatch(changes: StateChanges): Uint8Array {
  return record(KIND.patch, [encodeChanges(changes)]);
}

/** @param position the number of blocks and patches that stay in force. */
export function encodeRollBack(position: number): Uint8Array {
  return record(KIND.rollBack, [bigIntToBytes(BigInt(position))]);
}

export function decodeRollBack(payload: Uint8Array): number {
  return Number(bytesToBigInt(bytes(fieldsOf(payload)[0])));
}

export function decodeEntry(payload: Uint8Array): JournalEntry {
  const fields = fieldsOf(payload);
  if (payload[0] === KIND.patch) return { kind: "patch", changes: decodeChanges(fields[0]) };
  const [header, packed, hashes] = fields.slice(0, 3).map(bytes);
  if (header === undefined || packed === undefined || hashes === undefined)
    throw new Error("a block's record has fewer fields than it needs");
  const number = Number(bytesToBigInt(bytes((RLP.decode(header) as NestedUint8Array)[NUMBER_IN_HEADER])));
  return {
    kind: "block",
    block: new SealedBlock(number, header, hashes.length === 0 ? [] : packed),
    hashes: Array.from({ length: hashes.length / HASH_BYTES }, (_, i) =>
      bytesToHex(hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)),
    ),
    changes: decodeChanges(fields[3]),
  };
}

function record(kind: number, fields: RlpFields): Uint8Array {
  const body = RLP.encode(fields as Parameters<typeof RLP.encode>[0]);
  const payload = new Uint8Array(1 + body.length);
  payload[0] = kind;
  payload.set(body, 1);
  return payload;
}

function fieldsOf(payload: Uint8Array): NestedUint8Array {
  return list(RLP.decode(payload.subarray(1)));
}

function encodeChanges({ accounts, wiped, slots, codes }: StateChanges): RlpFields {
  return [
    [...accounts].map(([address, account]) => [
      hexToBytes(address),
      ...(account === undefined
        ? []
        : [bigIntToBytes(account.nonce), bigIntToBytes(account.balance), hexToBytes(account.codeHash)]),
    ]),
    [...wiped].map(hexToBytes),
    [...slots].map(([address, values]) => [
      hexToBytes(address),
      [...values].map(([slot, value]) => [hexToBytes(slot), value]),
    ]),
    [...codes.values()],
    [...codes.keys()].map(hexToBytes),
  ];
}

function decodeChanges(item: Item): StateChanges {
  const [accounts, wiped, slots, codes, codeHashes] = list(item);
  return {
    accounts: new Map(list(accounts).map((account) => decodeAccount(list(account)))),
    wiped: new Set(list(wiped).map(hex)),
    slots: new Map(
      list(slots).map((entry) => {
        const [address, values] = list(entry);
        return [hex(address), new Map(list(values).map((pair) => decodeSlot(list(pair))))] as const;
      }),
    ),
    codes: new Map(list(codes).map((code, i) => [hex(list(codeHashes)[i]), bytes(code)] as const)),
  };
}

function decodeAccount([address, nonce, balance, codeHash]: NestedUint8Array): [
  Hex,
  AccountRecord | undefined,
] {
  if (codeHash === undefined) return [hex(address), undefined];
  return [
    hex(address),
    { nonce: bytesToBigInt(bytes(nonce)), balance: bytesToBigInt(bytes(balance)), codeHash: hex(codeHash) },
  ];
}

function decodeSlot([slot, value]: NestedUint8Array): [Hex, Uint8Array] {
  return [hex(slot), bytes(value)];
}

function hex(item: Item): Hex {
  return bytesToHex(bytes(item));
}
