import { createRequire } from "node:module";
import { type Crypto, javascriptCrypto } from "@gas-waiver/protocol";

const require = createRequire(import.meta.url);

/** Loads Keccak-256 in WebAssembly; pure JavaScript, 7 times slower, where that does not load. */
export async function loadKeccak256(): Promise<Crypto["keccak256"]> {
  try {
    const { createKeccak }: typeof import("hash-wasm") = require("hash-wasm");
    const keccak = await createKeccak(256);
    return (data) => keccak.init().update(data).digest("binary");
  } catch {
    return javascriptCrypto.keccak256;
  }
}
