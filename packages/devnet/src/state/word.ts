import { bigIntToBytes, bytesToHex, type Hex } from "@gas-waiver/protocol";

/** 32 big-endian bytes. */
export function word(value: bigint | Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  const bytes = typeof value === "bigint" ? bigIntToBytes(value) : value;
  out.set(bytes, 32 - bytes.length);
  return out;
}

/** 32 big-endian bytes as hex, such as a slot of storage or its value. */
export function wordHex(value: bigint | Uint8Array): Hex {
  return bytesToHex(word(value));
}
