import fc from "fast-check";
import { getAddress } from "viem";
import { privateKeyToAddress as viemAddress } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { bytesToHex, hexToBytes } from "../encoding/hex.js";
import { checksumAddress, InvalidAddressError, parseAddress, privateKeyToAddress } from "./address.js";

describe("checksumAddress", () => {
  // EIP-55, "Test Cases".
  it.each([
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
  ])("writes %s as EIP-55 does", (address) => {
    expect(checksumAddress(hexToBytes(address))).toBe(address);
  });

  it("agrees with viem on any address", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (address) => {
        expect(checksumAddress(address)).toBe(getAddress(bytesToHex(address)));
      }),
      { numRuns: 500 },
    );
  });
});

describe("parseAddress", () => {
  const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

  it("reads an address with its checksum, and one without upper or without lower case", () => {
    for (const text of [ADDRESS, ADDRESS.toLowerCase(), `0x${ADDRESS.slice(2).toUpperCase()}`]) {
      expect(bytesToHex(parseAddress(text))).toBe(ADDRESS.toLowerCase());
    }
  });

  it("refuses any other case, and names the right one", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), fc.nat(39), (bytes, at) => {
        const right = checksumAddress(bytes);
        const turned = (character: string) =>
          character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();
        const wrong = `${right.slice(0, at + 2)}${turned(right.charAt(at + 2))}${right.slice(at + 3)}`;
        fc.pre(wrong !== right && /[a-f]/.test(wrong) && /[A-F]/.test(wrong));
        expect(() => parseAddress(wrong)).toThrow(`these digits are written ${right}`);
      }),
    );
  });

  it.each([
    undefined,
    null,
    5,
    [ADDRESS],
    "",
    ADDRESS.slice(2),
    `${ADDRESS}0`,
    ` ${ADDRESS}`,
    `0X${ADDRESS.slice(2)}`,
  ])("refuses %j, which is no address", (value) => {
    expect(() => parseAddress(value)).toThrow(InvalidAddressError);
  });
});

describe("privateKeyToAddress", () => {
  it("agrees with viem", () => {
    for (let byte = 1; byte < 20; byte++) {
      const key = new Uint8Array(32).fill(byte);
      expect(checksumAddress(privateKeyToAddress(key))).toBe(viemAddress(bytesToHex(key)));
    }
  });

  it("throws on 0 and on the order of the curve, which are not keys", () => {
    const order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    expect(() => privateKeyToAddress(new Uint8Array(32))).toThrow();
    expect(() => privateKeyToAddress(hexToBytes(order))).toThrow();
  });
});
