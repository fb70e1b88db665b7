import {
  bytesToHex,
  type Crypto,
  crypto,
  hexToBytes,
  javascriptCrypto,
  type Signature,
  setCryptoBackend,
} from "@gas-waiver/protocol";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { loadNativeCrypto, useNativeCrypto } from "./nativeCrypto.js";
import { loadWasmCrypto } from "./wasmCrypto.js";

/** The order n of the group of secp256k1, and the prime p of its field. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const FIELD = 2n ** 256n - 2n ** 32n - 977n;
const word = (value: bigint) => hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
const signature = (r: bigint, s: bigint, yParity: 0 | 1): Signature => ({
  compact: Uint8Array.from([...word(r), ...word(s)]),
  yParity,
});

let native: Crypto;
let wasm: Crypto;
beforeAll(async () => {
  native = assertLoaded(await loadNativeCrypto(), "secp256k1");
  wasm = assertLoaded(await loadWasmCrypto(), "tiny-secp256k1");
});

function assertLoaded(backend: Crypto | undefined, packageName: string): Crypto {
  if (backend === undefined) throw new Error(`a backend does not load here; is ${packageName} installed?`);
  return backend;
}

/** Runs a function with each backend, asserts that the results are the same, and returns the result. */
function sameFromAll<T>(run: (crypto: Crypto) => T): T {
  const answer = run(javascriptCrypto);
  expect(run(native)).toEqual(answer);
  expect(run(wasm)).toEqual(answer);
  return answer;
}

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
const key = fc.bigInt({ min: 1n, max: ORDER - 1n }).map(word);
const parity = fc.constantFrom(0 as const, 1 as const);

describe("the crypto backends", () => {
  it("load on Node, and useNativeCrypto chooses the native one", async () => {
    expect([native.name, wasm.name]).toEqual(["native", "wasm"]);
    expect(javascriptCrypto.name).toBe("javascript");
    expect(await useNativeCrypto()).toBe("native");
    expect(crypto.name).toBe("native");
  });

  it("replace each other for the whole protocol, more than once", async () => {
    setCryptoBackend(javascriptCrypto);
    expect(crypto.name).toBe("javascript");
    expect(crypto.keccak256(digest)).toEqual(native.keccak256(digest));
    await useNativeCrypto();
    expect(crypto.name).toBe("native");
  });

  // Keccak-256 as Ethereum has it (not SHA3-256): around the block of 136 bytes.
  it.each([
    ["no bytes", new Uint8Array(0), "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
    [
      "abc",
      new TextEncoder().encode("abc"),
      "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
    ],
    [
      "135 × a",
      new Uint8Array(135).fill(97),
      "0x34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446",
    ],
    [
      "136 × a",
      new Uint8Array(136).fill(97),
      "0xa6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e",
    ],
    [
      "137 × a",
      new Uint8Array(137).fill(97),
      "0xd869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39",
    ],
  ])("hash %s to the known value", (_, data, expected) => {
    expect(bytesToHex(sameFromAll(({ keccak256 }) => keccak256(data)))).toBe(expected);
  });

  it("hash any bytes to the same value, and change no hash that they have returned", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.uint8Array({ maxLength: 10 }), (data, next) => {
        sameFromAll((backend) => {
          const first = backend.keccak256(data);
          const copy = Uint8Array.from(first);
          backend.keccak256(next);
          expect(first).toEqual(copy);
          return first;
        });
      }),
      { numRuns: 300 },
    );
  });

  it("give the same signature (RFC 6979, low s), and recover the key that signed", () => {
    fc.assert(
      fc.property(hash, key, (digest, privateKey) => {
        const signed = sameFromAll((backend) => backend.sign(digest, privateKey));
        expect(signed.compact.length).toBe(64);
        expect(BigInt(bytesToHex(signed.compact.subarray(32)))).toBeLessThanOrEqual(ORDER / 2n);
        const publicKey = sameFromAll((backend) => backend.publicKey(privateKey));
        expect(publicKey.length).toBe(64);
        expect(sameFromAll((backend) => backend.recover(digest, signed))).toEqual(publicKey);
      }),
      { numRuns: 120 },
    );
  });

  it("recover the same key, or none, from random signatures", () => {
    let unrecoverable = 0;
    fc.assert(
      fc.property(
        hash,
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        hash,
        parity,
        (digest, r, s, yParity) => {
          const compact = Uint8Array.from([...word(r), ...s]);
          if (sameFromAll((backend) => backend.recover(digest, { compact, yParity })) === undefined)
            unrecoverable++;
        },
      ),
      { numRuns: 120 },
    );
    expect(unrecoverable).toBeGreaterThan(0);
  });

  const digest = new Uint8Array(32).fill(7);
  it.each<[string, bigint, bigint]>([
    ["r = 0", 0n, 1n],
    ["s = 0", 1n, 0n],
    ["r = s = 0", 0n, 0n],
    ["r = n", ORDER, 1n],
    ["s = n", 1n, ORDER],
    ["r = n + 1", ORDER + 1n, 1n],
    ["r = p, the prime of the field", FIELD, 1n],
    ["r = s = 2^256 - 1", 2n ** 256n - 1n, 2n ** 256n - 1n],
    ["r = 5, which is not the x coordinate of a point", 5n, 1n],
  ])("recover no key from %s", (_, r, s) => {
    for (const yParity of [0, 1] as const) {
      expect(sameFromAll((backend) => backend.recover(digest, signature(r, s, yParity)))).toBeUndefined();
    }
  });

  it.each<[string, bigint, bigint]>([
    ["the smallest r with a point", 1n, 1n],
    ["the highest s", 1n, ORDER - 1n],
    ["the highest low s", 1n, ORDER / 2n],
  ])("recover a key from %s", (_, r, s) => {
    for (const yParity of [0, 1] as const) {
      expect(sameFromAll((backend) => backend.recover(digest, signature(r, s, yParity)))).toHaveLength(64);
    }
  });

  it.each([0n, 1n, ORDER - 1n, ORDER, ORDER + 1n])(
    "recover the same key, or none, from the hash %s",
    (value) => {
      for (const yParity of [0, 1] as const) {
        sameFromAll((backend) => backend.recover(word(value), signature(1n, 1n, yParity)));
      }
    },
  );

  it("recover no key from a signature that leads to the point at infinity", () => {
    // With r the x of G and s = hash (mod n): r·Q = s·R - hash·G = 0 for the parity of G.
    const gx = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
    expect(sameFromAll((backend) => backend.recover(word(5n), signature(gx, 5n, 0)))).toBeUndefined();
    expect(sameFromAll((backend) => backend.recover(word(5n), signature(gx, 5n, 1)))).toHaveLength(64);
  });

  it.each([0n, ORDER, 2n ** 256n - 1n])("refuse the private key %s", (value) => {
    for (const backend of [native, wasm, javascriptCrypto]) {
      expect(() => backend.publicKey(word(value))).toThrow();
      expect(() => backend.sign(digest, word(value))).toThrow();
    }
  });

  it.each([1n, ORDER - 1n])("take the private key %s", (value) => {
    sameFromAll((backend) => backend.publicKey(word(value)));
    sameFromAll((backend) => backend.sign(digest, word(value)));
  });
});
