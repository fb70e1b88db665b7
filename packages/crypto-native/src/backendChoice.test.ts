// The choice of the backend in processes that lack a package. They run the built package, as Node cannot run the sources.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

const PROGRAM = `
  import { crypto } from "@gas-waiver/protocol";
  import { useNativeCrypto } from "@gas-waiver/crypto-native";
  const name = await useNativeCrypto();
  const hash = crypto.keccak256(new Uint8Array(0));
  const key = new Uint8Array(32).fill(1);
  const signer = crypto.recover(hash, crypto.sign(hash, key));
  const isOurs = Buffer.from(signer).equals(Buffer.from(crypto.publicKey(key)));
  console.log(JSON.stringify({ name, inUse: crypto.name, isOurs, hash: Buffer.from(hash).toString("hex") }));`;

/** Runs the program where the packages cannot be found, and returns the line that it prints. */
async function runWithout(packages: readonly string[], flags: readonly string[] = []): Promise<unknown> {
  const preload = join(folder, `without-${packages.length}.cjs`);
  await writeFile(
    preload,
    `const Module = require("node:module");
     const resolve = Module._resolveFilename;
     Module._resolveFilename = (name, ...rest) => {
       if (${JSON.stringify(packages)}.some((one) => name === one || name.startsWith(one + "/")))
         throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: "MODULE_NOT_FOUND" });
       return resolve(name, ...rest);
     };`,
  );
  const { stdout } = await run(
    process.execPath,
    [...flags, "--require", preload, "--input-type=module", "--eval", PROGRAM],
    { cwd: import.meta.dirname },
  );
  return JSON.parse(stdout);
}

/** The Keccak-256 hash of no bytes. */
const EMPTY_HASH = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
const worksWith = (name: string) => ({ name, inUse: name, isOurs: true, hash: EMPTY_HASH });

describe("useNativeCrypto", () => {
  it("takes the native addon where everything is installed", async () => {
    expect(await runWithout([])).toEqual(worksWith("native"));
  });

  it("takes WebAssembly where the addon is missing", async () => {
    expect(await runWithout(["secp256k1"])).toEqual(worksWith("wasm"));
  });

  it("keeps pure JavaScript where both are missing, Keccak in WebAssembly too", async () => {
    expect(await runWithout(["secp256k1", "tiny-secp256k1", "hash-wasm"])).toEqual(worksWith("javascript"));
  });

  it("takes the addon without Keccak in WebAssembly where Node runs without WebAssembly", async () => {
    expect(await runWithout([], ["--jitless"])).toEqual(worksWith("native"));
    expect(await runWithout(["secp256k1"], ["--jitless"])).toEqual(worksWith("javascript"));
  });
});
