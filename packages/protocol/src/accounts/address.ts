import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto } from "../crypto/cryptoBackend.js";
import { bytesToHex, type Hex } from "../encoding/hex.js";

/**
 * Returns the address (20 bytes) of an uncompressed public key (64 bytes): the last 20 bytes of its hash.
 * @example
 * ```ts
 * const address = publicKeyToAddress(crypto.publicKey(privateKey));
 * ```
 */
export function publicKeyToAddress(publicKey: Uint8Array, crypto: Crypto = defaultCrypto): Uint8Array {
  return crypto.keccak256(publicKey).subarray(12);
}

/**
 * Returns the address (20 bytes) of a private key (32 bytes).
 * @throws on a key that is 0 or not below the order of the curve.
 * @example
 * ```ts
 * console.log(checksumAddress(privateKeyToAddress(privateKey)));
 * ```
 */
export function privateKeyToAddress(privateKey: Uint8Array, crypto: Crypto = defaultCrypto): Uint8Array {
  return publicKeyToAddress(crypto.publicKey(privateKey), crypto);
}

/**
 * Writes an address in hex with the upper and lower case of EIP-55, as people and wallets write it.
 * @param address 20 bytes.
 * @example
 * ```ts
 * console.log(checksumAddress(waiver.address)); // "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
 * ```
 */
export function checksumAddress(address: Uint8Array, crypto: Crypto = defaultCrypto): Hex {
  const hex = bytesToHex(address).slice(2);
  const hash = bytesToHex(crypto.keccak256(new TextEncoder().encode(hex))).slice(2);
  let mixed = "";
  for (let i = 0; i < hex.length; i++) {
    const character = hex.charAt(i);
    mixed += Number.parseInt(hash.charAt(i), 16) >= 8 ? character.toUpperCase() : character;
  }
  return `0x${mixed}`;
}
