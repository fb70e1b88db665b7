import { createRequire } from "node:module";
import { type Crypto, crypto, type Signature, setCryptoBackend } from "@gas-waiver/protocol";
import { loadKeccak256 } from "./keccak.js";
import { loadWasmCrypto } from "./wasmCrypto.js";

const require = createRequire(import.meta.url);

let loading: Promise<Crypto | undefined> | undefined;

/**
 * Makes the protocol use the fastest backend that loads, in this thread: the native addon, else WebAssembly. Call it once
 * before the work begins; further calls cost nothing.
 * @returns the name of the backend in use afterwards: `javascript` where neither loads.
 * @example
 * ```ts
 * if ((await useNativeCrypto()) === "javascript") console.warn("signing with pure JavaScript");
 * ```
 */
export async function useNativeCrypto(): Promise<Crypto["name"]> {
  loading ??= loadNativeCrypto().then((native) => native ?? loadWasmCrypto());
  const fastest = await loading;
  if (fastest) setCryptoBackend(fastest);
  return crypto.name;
}

/**
 * Loads libsecp256k1 as a Node addon, with Keccak-256 in WebAssembly: recovers 20 to 25 and signs 11 to 15 times as
 * fast as pure JavaScript. Undefined where the addon is not installed or has no build for this machine.
 * @example
 * ```ts
 * import { javascriptCrypto } from "@gas-waiver/protocol";
 *
 * const native = await loadNativeCrypto();
 * const hash = (native ?? javascriptCrypto).keccak256(new Uint8Array(0));
 * ```
 */
export async function loadNativeCrypto(): Promise<Crypto | undefined> {
  try {
    // The package's main entry falls back to JavaScript silently; its bindings fail instead.
    const secp256k1: typeof import("secp256k1") = require("secp256k1/bindings.js");
    return nativeCrypto(secp256k1, await loadKeccak256());
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
