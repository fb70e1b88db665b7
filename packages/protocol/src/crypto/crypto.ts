import type { Crypto } from "./cryptoBackend.js";
import { javascriptCrypto } from "./javascript.js";

let backend: Crypto = javascriptCrypto;

/**
 * The cryptography that the protocol uses where a caller passes none: pure JavaScript, until {@link setCryptoBackend}
 * sets another backend. `crypto.name` tells which.
 * @example
 * ```ts
 * const hash = crypto.keccak256(hexToBytes(signedHex)); // 32 bytes
 * ```
 */
export const crypto: Crypto = {
  get name() {
    return backend.name;
  },
  keccak256: (data) => backend.keccak256(data),
  recover: (hash, signature) => backend.recover(hash, signature),
  sign: (hash, privateKey) => backend.sign(hash, privateKey),
  publicKey: (privateKey) => backend.publicKey(privateKey),
};

/**
 * Makes the protocol use another backend in this thread from now on. Programs on Node call `useNativeCrypto()` of
 * `@gas-waiver/crypto-native` instead, which loads the native one and passes it here.
 * @example
 * ```ts
 * setCryptoBackend(javascriptCrypto); // back to the default
 * ```
 */
export function setCryptoBackend(next: Crypto): void {
  backend = next;
}
