import { bytesToHex, privateKeyToAddress } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { describeWaiverAccount } from "../../../protocol/test/support/waiverAccountContract.js";
import { WAIVER_KEY } from "../../test/support/user.js";
import { privateKeyOf, privateKeyWaiver } from "./privateKeyWaiver.js";

describeWaiverAccount(
  "of a private key",
  () => privateKeyWaiver(WAIVER_KEY),
  privateKeyToAddress(WAIVER_KEY),
);

describe("the waiver of a private key", () => {
  it.each([
    ["31 bytes", new Uint8Array(31).fill(0xab)],
    ["0", new Uint8Array(32)],
    ["above the order of the curve", new Uint8Array(32).fill(0xff)],
  ])("is not made of a key that is %s, and the error does not show the key", (_, key) => {
    const make = () => privateKeyWaiver(key);
    expect(make).toThrow();
    expect(make).not.toThrow(bytesToHex(key).slice(2, 12));
  });

  it("shows its key to `privateKeyOf`, and not in the members of the account or for a copy of it", () => {
    const account = privateKeyWaiver(WAIVER_KEY);
    expect(privateKeyOf(account)).toEqual(WAIVER_KEY);
    expect(privateKeyOf({ ...account })).toBeUndefined();
    expect(JSON.stringify(Object.values(account))).not.toContain(String(WAIVER_KEY[0]).repeat(2));
  });
});
