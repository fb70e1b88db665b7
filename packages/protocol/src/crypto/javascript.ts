import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Crypto, Signature } from "./cryptoBackend.js";

const UNCOMPRESSED = false;

/** The backend in pure JavaScript. It runs everywhere, browsers included. */
export const javascriptCrypto: Crypto = {
  name: "javascript",
  keccak256: (data) => keccak_256(data),
  recover(hash, { compact, yParity }) {
    try {
      const point = secp256k1.Signature.fromBytes(compact, "compact")
        .addRecoveryBit(yParity)
        .recoverPublicKey(hash);
      return point.toBytes(UNCOMPRESSED).subarray(1);
    } catch {
      return undefined;
    }
  },
  sign(hash, privateKey): Signature {
    const recovered = secp256k1.sign(hash, privateKey, { prehash: false, lowS: true, format: "recovered" });
    return { yParity: recovered[0] === 0 ? 0 : 1, compact: recovered.subarray(1) };
  },
  publicKey: (privateKey) => secp256k1.getPublicKey(privateKey, UNCOMPRESSED).subarray(1),
};
