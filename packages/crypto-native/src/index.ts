export { loadNativeCrypto, useNativeCrypto } from "./nativeCrypto.js";
