import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto } from "../crypto/cryptoBackend.js";
import { describeValue } from "../describeValue.js";
import { bytesToHex, type Hex, hexToBytes } from "../encoding/hex.js";

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

/** Thrown by {@link parseAddress}. The message reads on from the name of what holds the address. */
export class InvalidAddressError extends Error {
  override readonly name = "InvalidAddressError";
}

/**
 * Reads an address as people write it. Where it has upper and lower case, it must be the checksum of EIP-55 (D4): a wrong one
 * is a digit that somebody mistyped. All lower or all upper case has none.
 * @returns 20 bytes.
 * @throws {@link InvalidAddressError}
 * @example
 * ```ts
 * const token = parseAddress("0x78Cf24370174180738C5B8E352B6D14c83a6c9A9");
 * ```
 */
export function parseAddress(value: unknown): Uint8Array {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(value)) {
    throw new InvalidAddressError(`is ${describeValue(value)}, not 20 bytes of 0x hex`);
  }
  const address = hexToBytes(value);
  const digits = value.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return address;
  const expected = checksumAddress(address);
  if (value === expected) return address;
  throw new InvalidAddressError(
    `is ${value}, whose checksum is wrong (EIP-55): these digits are written ${expected}`,
  );
}
