import { compilePolicy, DEFAULT_MAX_WRAPPER_BYTES } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { validateTransaction } from "./validateTransaction.js";

const RULES = {
  chainId: 1n,
  maxGasLimit: 30_000_000n,
  maxDataLength: 100_000,
  maxWrapperBytes: DEFAULT_MAX_WRAPPER_BYTES,
  policy: compilePolicy([]),
};

it("reads no text that is far too large for any transaction, and says how large it may be", () => {
  const reasonOf = (bytes: number) => {
    const validation = validateTransaction(`0x${"zz".repeat(bytes)}`, RULES);
    return "error" in validation ? validation.error.reason : undefined;
  };
  expect(reasonOf(4 * DEFAULT_MAX_WRAPPER_BYTES)).toBe("INVALID_HEX");
  expect(reasonOf(4 * DEFAULT_MAX_WRAPPER_BYTES + 1)).toBe("TRANSACTION_TOO_LARGE");
});
