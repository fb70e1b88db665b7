import type { Crypto } from "./Crypto.js";
import { javascriptCrypto } from "./javascript.js";
import { loadNativeCrypto } from "./native.js";

/** On Node: native where it loads, else pure JavaScript. `crypto.name` says which. */
export const crypto: Crypto = (await loadNativeCrypto()) ?? javascriptCrypto;
