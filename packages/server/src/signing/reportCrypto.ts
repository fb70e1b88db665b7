import { arch, platform } from "node:process";
import type { Crypto } from "@gas-waiver/protocol";
import type { Logger } from "../model/telemetry/log.js";

/** Logs which cryptography this process uses, where it is not the fastest: slow cryptography limits the whole service. */
export function reportCrypto(name: Crypto["name"], log: Logger): void {
  const machine = `${platform}-${arch}`;
  if (name === "wasm") {
    log.info(
      { machine },
      "the cryptography is WebAssembly, which takes 3 to 4 times as long as the native addon: secp256k1 has no build for this machine, or is not installed",
    );
  }
  if (name === "javascript") {
    log.warn(
      { machine },
      "the cryptography is pure JavaScript, which takes 11 to 25 times as long as the native addon: neither secp256k1 nor tiny-secp256k1 loads; install the dependencies of @gas-waiver/crypto-native, and run Node without --jitless",
    );
  }
}
