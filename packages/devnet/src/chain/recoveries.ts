import { bytesToHex, type Crypto } from "@gas-waiver/protocol";

/**
 * The same cryptography, which recovers each signature once. A transaction is checked on admission and again
 * when its block is built (D8); its bytes are the same both times, and recovering is half of a check's cost.
 * It forgets nothing, so it must live no longer than what it checks.
 */
export function rememberRecoveries(crypto: Crypto): Crypto {
  const keys = new Map<string, Uint8Array | undefined>();
  return {
    name: crypto.name,
    keccak256: (data) => crypto.keccak256(data),
    sign: (hash, privateKey) => crypto.sign(hash, privateKey),
    publicKey: (privateKey) => crypto.publicKey(privateKey),
    recover(hash, signature) {
      const id = `${bytesToHex(hash)}${bytesToHex(signature.compact)}${signature.yParity}`;
      if (!keys.has(id)) keys.set(id, crypto.recover(hash, signature));
      return keys.get(id);
    },
  };
}
