import { expect, it } from "vitest";
import type { Logger } from "../model/telemetry/log.js";
import { reportCrypto } from "./reportCrypto.js";

it("says which cryptography is not the fastest, and warns of the slow one with what to do", () => {
  const lines: [string, string][] = [];
  const write = (level: string) => (_: object, message: string) => void lines.push([level, message]);
  const log = { info: write("info"), warn: write("warn") } as unknown as Logger;
  for (const name of ["native", "wasm", "javascript"] as const) reportCrypto(name, log);
  expect(lines).toEqual([
    ["info", expect.stringMatching(/WebAssembly.*secp256k1 has no build for this machine/)],
    [
      "warn",
      expect.stringMatching(/pure JavaScript.*install the dependencies of @gas-waiver\/crypto-native/),
    ],
  ]);
});
