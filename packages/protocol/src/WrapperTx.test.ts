import { describe, expect, it } from "vitest";
import { decodeTransaction } from "./decodeTransaction.js";
import { byUser, eip1559, eip2930, legacy, WAIVER, WAIVER_KEY } from "./fixtures.test-support.js";
import { decodeInnerTx } from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import { MARKER_ADDRESS } from "./network.js";
import { recoverSender } from "./SignedTransaction.js";
import { signWrapperTx, wrapInnerTx } from "./WrapperTx.js";

const inner = decodeInnerTx(byUser(legacy()).raw);

describe("wrapInnerTx (D5)", () => {
  it("makes a legacy transaction to the marker, of no value and no price, for the inner's chain", () => {
    expect(wrapInnerTx(inner, { nonce: 7n })).toMatchObject({
      type: "legacy",
      chainId: 2201n,
      nonce: 7n,
      gasPrice: 0n,
      to: MARKER_ADDRESS,
      value: 0n,
    });
  });

  it.each([legacy(), eip2930(), eip1559()])(
    "carries a $type inner byte for byte as its signer sent it",
    (tx) => {
      const { raw } = byUser(tx);
      expect(wrapInnerTx(decodeInnerTx(raw), { nonce: 0n }).data).toEqual(raw);
    },
  );

  it("has gas for the inner, for its own intrinsic gas and for verification: 50,000 unless told otherwise", () => {
    const wrapper = wrapInnerTx(inner, { nonce: 0n });
    expect(wrapper.gasLimit).toBe(inner.gasLimit + intrinsicGas(wrapper) + 50_000n);
    expect(wrapInnerTx(inner, { nonce: 0n, verificationGas: 0n }).gasLimit).toBe(wrapper.gasLimit - 50_000n);
  });
});

describe("signWrapperTx", () => {
  it("signs for the waiver, and gives the same bytes each time", () => {
    const signed = signWrapperTx(inner, WAIVER_KEY, { nonce: 7n });
    expect(recoverSender(signed)).toEqual(WAIVER);
    expect(decodeTransaction(signed.raw)).toEqual(signed);
    expect(signWrapperTx(inner, WAIVER_KEY, { nonce: 7n }).raw).toEqual(signed.raw);
    expect(signWrapperTx(inner, WAIVER_KEY, { nonce: 8n }).raw).not.toEqual(signed.raw);
  });
});
