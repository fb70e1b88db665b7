import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto, Signature } from "../crypto/cryptoBackend.js";
import { bytesToBigInt } from "../encoding/hex.js";
import { ProtocolError } from "../protocolError.js";
import { publicKeyToAddress } from "./address.js";

/** The order n of the curve secp256k1. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * Asserts that a signature is in its one canonical form: 0 < r < n and 0 < s ≤ n/2 (D2, EIP-2).
 * @throws {@link ProtocolError} `INVALID_SIGNATURE` or `HIGH_S_SIGNATURE`.
 * @example
 * ```ts
 * assertCanonicalSignature(await waiver.sign(signingHash(unsigned)));
 * ```
 */
export function assertCanonicalSignature({ compact }: Signature): void {
  const r = bytesToBigInt(compact.subarray(0, 32));
  const s = bytesToBigInt(compact.subarray(32));
  if (r === 0n && s === 0n) {
    throw new ProtocolError("INVALID_SIGNATURE", "the transaction is not signed: r and s are 0");
  }
  if (r === 0n || r >= CURVE_ORDER || s === 0n || s >= CURVE_ORDER) {
    const outside = r === 0n || r >= CURVE_ORDER ? "r" : "s";
    throw new ProtocolError("INVALID_SIGNATURE", `${outside} is not between 0 and the order of the curve`, {
      field: outside,
    });
  }
  if (s > CURVE_ORDER / 2n) {
    throw new ProtocolError(
      "HIGH_S_SIGNATURE",
      "s is above half the order of the curve; the same signature has a low s, which EIP-2 demands",
    );
  }
}

/**
 * Returns the address (20 bytes) whose key signed the 32-byte hash.
 * @throws {@link ProtocolError} `INVALID_SIGNATURE` if no key can have made the signature.
 * @example
 * ```ts
 * const hash = signingHash(unsigned);
 * console.log(checksumAddress(recoverAddress(hash, await waiver.sign(hash))));
 * ```
 */
export function recoverAddress(
  hash: Uint8Array,
  signature: Signature,
  crypto: Crypto = defaultCrypto,
): Uint8Array {
  const publicKey = crypto.recover(hash, signature);
  if (publicKey === undefined) {
    throw new ProtocolError("INVALID_SIGNATURE", "no key can have made this signature");
  }
  return publicKeyToAddress(publicKey, crypto);
}
