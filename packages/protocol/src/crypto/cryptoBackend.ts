/** An ECDSA signature on secp256k1: `compact` is r and s, 32 bytes each, big-endian. */
export interface Signature {
  readonly compact: Uint8Array;
  readonly yParity: 0 | 1;
}

/**
 * The cryptography that the protocol uses. All backends give the same results bit for bit: signatures are
 * deterministic (RFC 6979) and low-s.
 */
export interface Crypto {
  readonly name: "native" | "wasm" | "javascript";
  /** Returns the Keccak-256 hash, 32 bytes. */
  keccak256(data: Uint8Array): Uint8Array;
  /** Returns the uncompressed public key without its prefix (64 bytes), or undefined if no key made this signature. */
  recover(hash: Uint8Array, signature: Signature): Uint8Array | undefined;
  /** Signs a 32-byte hash. */
  sign(hash: Uint8Array, privateKey: Uint8Array): Signature;
  /** Returns the uncompressed public key without its prefix (64 bytes). Throws on a key that is 0 or ≥ n. */
  publicKey(privateKey: Uint8Array): Uint8Array;
}
