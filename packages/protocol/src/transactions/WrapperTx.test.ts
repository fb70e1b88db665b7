import { describe, expect, it } from "vitest";
import {
  byUser,
  eip1559,
  eip2930,
  legacy,
  refusal,
  refusalOf,
  USER,
  USER_KEY,
  WAIVER,
  WAIVER_KEY,
} from "../../test/support/fixtures.js";
import { mismatchedAccount } from "../../test/support/waiverAccountContract.js";
import { privateKeyAccount } from "../accounts/waiverAccount.js";
import { bytesToHex } from "../encoding/hex.js";
import { encodeRlp } from "../encoding/rlp.js";
import { MARKER_ADDRESS } from "../network.js";
import { decodeTransaction } from "./decodeTransaction.js";
import { decodeInnerTx } from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import { recoverSender, signingHash } from "./SignedTransaction.js";
import { assembleWrapperTx, signWrapperTx, signWrapperTxWithKey, wrapInnerTx } from "./WrapperTx.js";

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

  it("carries a typed inner as an RLP string on request, and has gas for its longer data (D1)", () => {
    const typed = decodeInnerTx(byUser(eip1559()).raw);
    const wrapper = wrapInnerTx(typed, { nonce: 0n, innerEncoding: "rlp" });
    expect(wrapper.data).toEqual(encodeRlp(typed.raw));
    expect(wrapper.gasLimit).toBe(typed.gasLimit + intrinsicGas(wrapper) + 50_000n);
  });

  it("has gas for the inner, for its own intrinsic gas and for verification: 50,000 by default", () => {
    const wrapper = wrapInnerTx(inner, { nonce: 0n });
    expect(wrapper.gasLimit).toBe(inner.gasLimit + intrinsicGas(wrapper) + 50_000n);
    expect(wrapInnerTx(inner, { nonce: 0n, verificationGas: 0n }).gasLimit).toBe(wrapper.gasLimit - 50_000n);
  });
});

describe("signWrapperTxWithKey", () => {
  it("signs for the waiver, and gives the same bytes each time", () => {
    const signed = signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 7n });
    expect(recoverSender(signed)).toEqual(WAIVER);
    expect(decodeTransaction(signed.raw)).toEqual(signed);
    expect(signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 7n }).raw).toEqual(signed.raw);
    expect(signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 8n }).raw).not.toEqual(signed.raw);
  });
});

describe("signWrapperTx", () => {
  it("gives the same wrapper through an account as with the private key", async () => {
    const signed = await signWrapperTx(inner, privateKeyAccount(WAIVER_KEY), { nonce: 7n });
    expect(signed).toEqual(signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 7n }));
  });

  it("never returns a wrapper that another key has signed (D33)", async () => {
    const account = mismatchedAccount(WAIVER, USER_KEY);
    const error = await refusalOf(signWrapperTx(inner, account, { nonce: 7n }));
    expect(error.reason).toBe("WRAPPER_INVALID_SIGNATURE");
    expect(error.values).toEqual({ waiver: bytesToHex(WAIVER), recovered: bytesToHex(USER) });
  });

  it("rejects with the error of a custody that does not sign", async () => {
    const account = { address: WAIVER, sign: () => Promise.reject(new Error("the device is locked")) };
    await expect(signWrapperTx(inner, account, { nonce: 7n })).rejects.toThrow("the device is locked");
  });
});

describe("assembleWrapperTx", () => {
  const wrapper = wrapInnerTx(inner, { nonce: 7n });

  it("joins an unsigned wrapper and the signature of its signing hash", async () => {
    const signature = await privateKeyAccount(WAIVER_KEY).sign(signingHash(wrapper));
    const signed = assembleWrapperTx(wrapper, signature, WAIVER);
    expect(signed).toEqual(signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 7n }));
  });

  it("refuses the waiver's signature of another wrapper", async () => {
    const other = signingHash(wrapInnerTx(inner, { nonce: 8n }));
    const signature = await privateKeyAccount(WAIVER_KEY).sign(other);
    const error = refusal(() => assembleWrapperTx(wrapper, signature, WAIVER));
    expect(error.reason).toBe("WRAPPER_INVALID_SIGNATURE");
    expect(error.values.waiver).toBe(bytesToHex(WAIVER));
  });
});
