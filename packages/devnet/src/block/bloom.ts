import { bytesToHex, crypto, type Hex } from "@gas-waiver/protocol";
import type { Log } from "../evm/executor.js";

// The 2048-bit bloom filter over the addresses and topics of logs (yellow paper, 4.3.1).

export const BLOOM_BYTES = 256;

/** The bits of items that were hashed before. Logs repeat their contracts, events and accounts. */
const knownBits = new Map<Hex, readonly number[]>();
const MAX_KNOWN = 10_000;

/** The three bits, numbered below 2048, that an address or topic sets. */
export function bloomBits(item: Uint8Array): readonly number[] {
  const key = bytesToHex(item);
  let bits = knownBits.get(key);
  if (bits === undefined) {
    const hash = crypto.keccak256(item);
    bits = [0, 2, 4].map((i) => (((hash[i] ?? 0) << 8) | (hash[i + 1] ?? 0)) & 2047);
    if (knownBits.size >= MAX_KNOWN) knownBits.clear();
    knownBits.set(key, bits);
  }
  return bits;
}

/** The bloom without any bit. It must not be changed. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES);

export function bloomOf(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return EMPTY_BLOOM;
  const bloom = new Uint8Array(BLOOM_BYTES);
  for (const { address, topics } of logs) {
    for (const item of [address, ...topics]) {
      for (const bit of bloomBits(item)) {
        const index = BLOOM_BYTES - 1 - (bit >> 3);
        bloom[index] = (bloom[index] ?? 0) | (1 << (bit & 7));
      }
    }
  }
  return bloom;
}

/** Whether the item with these bits may be in a log under the bloom. False means that it certainly is not. */
export function mayHold(bloom: Uint8Array, bits: readonly number[]): boolean {
  return bits.every((bit) => ((bloom[BLOOM_BYTES - 1 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0);
}
