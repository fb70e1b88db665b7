import { createRequire } from "node:module";
import type { Crypto, Signature } from "./Crypto.js";

/**
 * libsecp256k1 as a Node addon, with Keccak in WebAssembly: recovers 25 times and signs 10 times as fast as
 * pure JavaScript. Undefined where either is not installed or does not load.
 */
export async function loadNativeCrypto(): Promise<Crypto | undefined> {
  try {
    const { createKeccak } = await import("hash-wasm");
    const keccak = await createKeccak(256);
    // The package's main entry falls back to JavaScript without a word; its bindings alone fail instead.
    const secp256k1: typeof import("secp256k1") = createRequire(import.meta.url)("secp256k1/bindings.js");
    return nativeCrypto(secp256k1, (data) => keccak.init().update(data).digest("binary"));
  } catch {
    return undefined;
  }
}

function nativeCrypto(secp256k1: typeof import("secp256k1"), keccak256: Crypto["keccak256"]): Crypto {
  return {
    name: "native",
    keccak256,
    recover(hash, { compact, yParity }) {
      try {
        return secp256k1.ecdsaRecover(compact, yParity, hash, false).subarray(1);
      } catch {
        return undefined;
      }
    },
    sign(hash, privateKey): Signature {
      const { signature, recid } = secp256k1.ecdsaSign(hash, privateKey);
      return { compact: signature, yParity: recid === 0 ? 0 : 1 };
    },
    publicKey: (privateKey) => secp256k1.publicKeyCreate(privateKey, false).subarray(1),
  };
}
