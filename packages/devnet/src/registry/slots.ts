import { bytesToHex, concatBytes, crypto } from "@gas-waiver/protocol";
import { word } from "../state/word.js";

// Computes the slots of Solidity's state variables (docs.soliditylang.org, "Layout of State Variables in Storage").

/** The slot of a mapping's entry. For a nested mapping, `position` is the slot of the outer entry. */
export function mappingSlot(key: bigint | Uint8Array, position: bigint | Uint8Array): Uint8Array {
  return crypto.keccak256(concatBytes(word(key), word(position)));
}

/** The slot of a dynamic array's element, if each takes `size` slots. The array's length is at `position`. */
export function elementSlot(position: bigint | Uint8Array, index: number, size = 1): bigint {
  return BigInt(bytesToHex(crypto.keccak256(word(position)))) + BigInt(index * size);
}
