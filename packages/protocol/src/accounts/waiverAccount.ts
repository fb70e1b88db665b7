import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto, Signature } from "../crypto/cryptoBackend.js";
import { bytesEqual, bytesToHex } from "../encoding/hex.js";
import { ProtocolError } from "../protocolError.js";
import { privateKeyToAddress } from "./address.js";
import { assertCanonicalSignature, recoverAddress } from "./signature.js";

/**
 * A waiver and its way to sign (D33). The key may be in this process, in another one, in a key management service
 * or in a device: only the implementation knows.
 * @example
 * ```ts
 * // A custody that signs over HTTP.
 * const remote: WaiverAccount = {
 *   address: hexToBytes("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
 *   async sign(hash) {
 *     const answer = await fetch("https://signer.example/sign", { method: "POST", body: bytesToHex(hash) });
 *     const signature = hexToBytes(await answer.text()); // r, s and the parity
 *     return { compact: signature.subarray(0, 64), yParity: signature[64] === 0 ? 0 : 1 };
 *   },
 * };
 * ```
 */
export interface WaiverAccount {
  /** The waiver's address, 20 bytes. */
  readonly address: Uint8Array;
  /**
   * Signs a 32-byte hash as it is, without a prefix. The signature has a low s and recovers to `address`; the caller
   * checks that with {@link assertWaiverSignature} before it uses the signature.
   * @param message the bytes whose Keccak-256 is the hash, for a signing service that takes no hash.
   */
  sign(hash: Uint8Array, message?: Uint8Array): Promise<Signature>;
}

/**
 * Returns the waiver of a private key that is in this process. The key is kept in a closure, so that logging or
 * serializing the account does not show it.
 * @param privateKey 32 bytes.
 * @throws on a key that is 0 or not below the order of the curve.
 * @example
 * ```ts
 * const waiver = privateKeyAccount(privateKey);
 * console.log(checksumAddress(waiver.address));
 * ```
 */
export function privateKeyAccount(privateKey: Uint8Array, crypto: Crypto = defaultCrypto): WaiverAccount {
  const address = privateKeyToAddress(privateKey, crypto);
  return { address, sign: async (hash) => crypto.sign(hash, privateKey) };
}

/**
 * Asserts that a signature was made by the waiver, and that a chain takes it: 64 bytes, of low s, recovering to
 * the address. "A signature that does not recover to the address is never sent" (D33).
 * @param hash the 32 bytes that the waiver was asked to sign.
 * @param address the waiver's 20 bytes.
 * @throws {@link ProtocolError} `WRAPPER_INVALID_SIGNATURE` with the values `waiver` and, where the signature
 * recovers to another address, `recovered`.
 * @example
 * ```ts
 * const hash = signingHash(unsigned);
 * const signature = await waiver.sign(hash);
 * assertWaiverSignature(hash, signature, waiver.address);
 * ```
 */
export function assertWaiverSignature(
  hash: Uint8Array,
  signature: Signature,
  address: Uint8Array,
  crypto: Crypto = defaultCrypto,
): void {
  const recovered = recoverCanonical(hash, signature, address, crypto);
  if (bytesEqual(recovered, address)) return;
  const values = { waiver: bytesToHex(address), recovered: bytesToHex(recovered) };
  throw new ProtocolError(
    "WRAPPER_INVALID_SIGNATURE",
    `the signature for the waiver ${values.waiver} was made by another key, that of ${values.recovered}`,
    values,
  );
}

function recoverCanonical(
  hash: Uint8Array,
  signature: Signature,
  address: Uint8Array,
  crypto: Crypto,
): Uint8Array {
  const { compact, yParity } = signature;
  try {
    if (compact.length !== 64) {
      throw new ProtocolError("INVALID_SIGNATURE", `r and s have ${compact.length} bytes, not 64`);
    }
    if (yParity !== 0 && yParity !== 1) {
      throw new ProtocolError("INVALID_SIGNATURE", `yParity is ${yParity}, which is neither 0 nor 1`);
    }
    assertCanonicalSignature(signature);
    return recoverAddress(hash, signature, crypto);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const waiver = bytesToHex(address);
    const message = `the signature for the waiver ${waiver} is not valid: ${error.message}`;
    throw new ProtocolError(
      "WRAPPER_INVALID_SIGNATURE",
      message,
      { ...error.values, waiver },
      { cause: error },
    );
  }
}
