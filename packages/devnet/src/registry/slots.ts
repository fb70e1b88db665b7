import { bytesToHex, concatBytes, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";

// Computes the slots of Solidity's state variables (docs.soliditylang.org, "Layout of State Variables in Storage").

/** 32 big-endian bytes. */
export function word(value: bigint | Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  const bytes = typeof value === "bigint" ? hexToBytes(`0x${value.toString(16).padStart(64, "0")}`) : value;
  out.set(bytes, 32 - bytes.length);
  return out;
}

/** The slot of a mapping's entry. For a nested mapping, `position` is the slot of the outer entry. */
export function mappingSlot(key: bigint | Uint8Array, position: bigint | Uint8Array): Uint8Array {
  return crypto.keccak256(concatBytes(word(key), word(position)));
}

/** The slot of a dynamic array's element, if each takes `size` slots. The array's length is at `position`. */
export function elementSlot(position: bigint | Uint8Array, index: number, size = 1): bigint {
  return BigInt(bytesToHex(crypto.keccak256(word(position)))) + BigInt(index * size);
}

/** The hex form of a slot that state readers take. */
export function slotHex(slot: bigint | Uint8Array): Hex {
  return bytesToHex(word(slot));
}
