import { describe, expect, it } from "vitest";
import { refusal, USER, USER_KEY, WAIVER, WAIVER_KEY } from "../../test/support/fixtures.js";
import { describeWaiverAccount } from "../../test/support/waiverAccountContract.js";
import { bytesToBigInt, bytesToHex, hexToBytes } from "../encoding/hex.js";
import { assertWaiverSignature, privateKeyAccount } from "./waiverAccount.js";

describeWaiverAccount("of a private key", () => privateKeyAccount(WAIVER_KEY), WAIVER);

describe("privateKeyAccount", () => {
  it.each([new Uint8Array(32), new Uint8Array(32).fill(0xff), new Uint8Array(31).fill(1)])(
    "refuses an invalid key (%#)",
    (key) => {
      expect(() => privateKeyAccount(key)).toThrow();
    },
  );

  it("does not hold the key where a log or JSON shows it", () => {
    expect(JSON.stringify(privateKeyAccount(WAIVER_KEY))).not.toMatch(/2,2,2|0202/);
  });
});

describe("assertWaiverSignature (D33)", () => {
  const hash = new Uint8Array(32).fill(9);
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const word = (value: bigint) => value.toString(16).padStart(64, "0");
  const refused = (signature: { compact: Uint8Array; yParity: 0 | 1 }) => {
    const error = refusal(() => assertWaiverSignature(hash, signature, WAIVER));
    expect(error.reason).toBe("WRAPPER_INVALID_SIGNATURE");
    expect(error.values.waiver).toBe(bytesToHex(WAIVER));
    return error;
  };

  it("accepts the waiver's own signature", async () => {
    const signature = await privateKeyAccount(WAIVER_KEY).sign(hash);
    expect(() => assertWaiverSignature(hash, signature, WAIVER)).not.toThrow();
  });

  it("names both addresses where another key has signed", async () => {
    const error = refused(await privateKeyAccount(USER_KEY).sign(hash));
    expect(error.values.recovered).toBe(bytesToHex(USER));
    expect(error.message).toContain(bytesToHex(USER));
  });

  it("refuses the other parity, and the waiver's signature of another hash", async () => {
    const { compact, yParity } = await privateKeyAccount(WAIVER_KEY).sign(hash);
    refused({ compact, yParity: yParity === 0 ? 1 : 0 });
    refused(await privateKeyAccount(WAIVER_KEY).sign(new Uint8Array(32).fill(8)));
  });

  it("refuses a high s, although it recovers to the waiver", async () => {
    const { compact, yParity } = await privateKeyAccount(WAIVER_KEY).sign(hash);
    const s = word(ORDER - bytesToBigInt(compact.subarray(32)));
    const twin = hexToBytes(`${bytesToHex(compact.subarray(0, 32))}${s}`);
    expect(refused({ compact: twin, yParity: yParity === 0 ? 1 : 0 }).message).toContain("half the order");
  });

  it("refuses an invalid signature", () => {
    refused({ compact: new Uint8Array(64), yParity: 0 });
    refused({ compact: new Uint8Array(63).fill(1), yParity: 0 });
    refused({ compact: new Uint8Array(65).fill(1), yParity: 0 });
    refused({ compact: new Uint8Array(64).fill(1), yParity: 27 as 0 });
    expect(refused({ compact: hexToBytes(`0x${word(5n)}${word(1n)}`), yParity: 0 }).message).toContain(
      "no key",
    );
  });
});
