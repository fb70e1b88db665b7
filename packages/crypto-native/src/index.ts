export { loadNativeCrypto, useNativeCrypto } from "./nativeCrypto.js";
export { loadWasmCrypto } from "./wasmCrypto.js";
