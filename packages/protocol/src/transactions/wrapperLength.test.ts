// The size of wrappers, against encoded ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { privateKeyToAddress } from "../accounts/address.js";
import { encodeRlp } from "../encoding/rlp.js";
import { compilePolicy } from "../policy/policySets.js";
import { assertInnerTx, DEFAULT_MAX_DATA_LENGTH, decodeInnerTx } from "./InnerTx.js";
import { encodeTransaction, type UnsignedTransaction } from "./SignedTransaction.js";
import { DEFAULT_MAX_WRAPPER_BYTES, maxDataLengthFor, maxWrapperLength } from "./wrapperLength.js";

/** A signature whose halves take all 32 bytes each. No key made it. */
const SIGNATURE = { compact: new Uint8Array(64).fill(0x7f), yParity: 1 } as const;
const MAX_UINT64 = 2n ** 64n - 1n;
const TO = privateKeyToAddress(new Uint8Array(32).fill(1));

const BIGGEST = {
  chainId: 2n ** 53n - 1n,
  nonce: MAX_UINT64,
  gasLimit: MAX_UINT64,
  to: TO,
  value: 2n ** 256n - 1n,
} as const;

/** The bytes of the largest InnerTx of EIP-1559 with so much calldata. */
function largestInner(
  dataBytes: number,
  accessList: (UnsignedTransaction & { type: "eip1559" })["accessList"] = [],
) {
  const data = new Uint8Array(dataBytes).fill(0xff);
  const tx = {
    ...BIGGEST,
    type: "eip1559",
    maxPriorityFeePerGas: 0n,
    maxFeePerGas: 0n,
    data,
    accessList,
  } as const;
  return encodeTransaction(tx, SIGNATURE);
}

/** The bytes of the largest wrapper around an InnerTx, in the longer of its two encodings. */
function largestWrapper(inner: Uint8Array): number {
  const { chainId } = BIGGEST;
  const tx = { type: "legacy", chainId, nonce: MAX_UINT64, gasPrice: 0n, gasLimit: MAX_UINT64 } as const;
  return encodeTransaction({ ...tx, to: TO, value: 0n, data: encodeRlp(inner) }, SIGNATURE).length;
}

describe("the length of a wrapper", () => {
  it("is that of the largest encoded wrapper around so many bytes", () => {
    const innerBytes = fc.oneof(
      fc.integer({ min: 2, max: 400 }),
      fc.constantFrom(65_400, 65_500, 65_535, 65_536, 130_000),
    );
    fc.assert(
      fc.property(innerBytes, (length) => {
        expect(maxWrapperLength(length)).toBe(largestWrapper(new Uint8Array(length).fill(1)));
      }),
    );
  });

  it("is right where a header grows: by the first long item, and by a byte of its length", () => {
    for (const limit of [55, 256, 65_536]) {
      for (let length = limit - 12; length <= limit + 2; length++) {
        expect(maxWrapperLength(length)).toBe(largestWrapper(new Uint8Array(length).fill(1)));
      }
    }
  });

  it("leaves no calldata where the other fields alone are too long", () => {
    expect(maxDataLengthFor(100)).toBe(0);
  });

  it("leaves the calldata that fits without an access list, to the byte", () => {
    expect(DEFAULT_MAX_DATA_LENGTH).toBe(130_786);
    for (const maxWrapperBytes of [DEFAULT_MAX_WRAPPER_BYTES, 1_048_576]) {
      const data = maxDataLengthFor(maxWrapperBytes);
      expect(largestWrapper(largestInner(data))).toBe(maxWrapperBytes);
      expect(largestWrapper(largestInner(data + 1))).toBe(maxWrapperBytes + 1);
    }
  });
});

describe("an InnerTx", () => {
  const rules = {
    chainId: 2201n,
    maxGasLimit: 30_000_000n,
    maxDataLength: DEFAULT_MAX_DATA_LENGTH,
    maxWrapperBytes: DEFAULT_MAX_WRAPPER_BYTES,
    policy: compilePolicy([{ address: "*" }]),
  };
  const accessList = (keys: number) => [
    { address: TO, storageKeys: Array.from({ length: keys }, () => new Uint8Array(32).fill(9)) },
  ];
  const inner = (dataBytes: number, keys: number) => {
    const fields = { ...BIGGEST, chainId: 2201n, nonce: 1n, gasLimit: 30_000_000n, value: 0n } as const;
    const tx = { ...fields, type: "eip1559", maxPriorityFeePerGas: 0n, maxFeePerGas: 0n } as const;
    const data = new Uint8Array(dataBytes);
    return decodeInnerTx(encodeTransaction({ ...tx, data, accessList: accessList(keys) }, SIGNATURE));
  };
  const refusalOf = (tx: ReturnType<typeof inner>) => {
    try {
      assertInnerTx(tx, rules);
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it("is measured with its access list, which the limit of calldata does not cover", () => {
    // 33 bytes a key, of which so many fit behind 1,000 bytes of calldata.
    const fitting = Array.from({ length: 60 }, (_, i) => 3_900 + i).filter(
      (keys) => maxWrapperLength(inner(1_000, keys).raw.length) <= DEFAULT_MAX_WRAPPER_BYTES,
    );
    const maxKeys = Math.max(...fitting);
    expect(maxKeys).toBeLessThan(3_959);
    expect(refusalOf(inner(1_000, maxKeys))).not.toMatchObject({ reason: "TRANSACTION_TOO_LARGE" });
    const { raw } = inner(1_000, maxKeys + 1);
    expect(refusalOf(inner(1_000, maxKeys + 1))).toMatchObject({
      code: "VALIDATION_FAILED",
      reason: "TRANSACTION_TOO_LARGE",
      message: expect.stringContaining(`${raw.length} bytes`),
      values: { bytes: raw.length, maxWrapperBytes: 131_072 },
    });
  });
});
