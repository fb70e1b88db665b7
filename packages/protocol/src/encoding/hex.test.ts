import { describe, expect, it } from "vitest";
import {
  bigIntToBytes,
  bytesEqual,
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  hexToBytes,
  InvalidHexError,
} from "./hex.js";

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);

describe("hex", () => {
  it("survives a round trip for every byte and for any length", () => {
    for (const length of [0, 1, 15, 16, 17, 256]) {
      const bytes = ALL_BYTES.subarray(0, length);
      expect(bytesToHex(bytes)).toBe(`0x${Buffer.from(bytes).toString("hex")}`);
      expect(hexToBytes(bytesToHex(bytes))).toEqual(bytes);
    }
  });

  it("reads upper and lower case, and writes lower case", () => {
    expect(bytesToHex(hexToBytes("0xAbCdEF"))).toBe("0xabcdef");
  });

  it.each([
    ["", 0, "it does not begin with 0x"],
    ["abcd", 0, "it does not begin with 0x"],
    ["0Xabcd", 0, "it does not begin with 0x"],
    ["0x1", 3, "it has an odd number of hex digits (1)"],
    ["0xabc", 5, "it has an odd number of hex digits (3)"],
    ["0xzz", 2, "character 2 is not a hex digit"],
    ["0xaag0", 4, "character 4 is not a hex digit"],
    ["0xaa0g", 5, "character 5 is not a hex digit"],
    ["0xab c", 4, "character 4 is not a hex digit"],
    ["0xab\u0661\u0661", 4, "character 4 is not a hex digit"],
    ["0x/:@G`g", 2, "character 2 is not a hex digit"],
  ])("refuses %j and says where", (text, at, message) => {
    const read = () => hexToBytes(text);
    expect(read).toThrow(new InvalidHexError(message, at));
    expect(read).toThrow(expect.objectContaining({ at }));
  });

  it.each(["/", ":", "@", "G", "`", "g"])("refuses %s, which stands beside the digits", (character) => {
    expect(() => hexToBytes(`0x0${character}`)).toThrow(InvalidHexError);
    expect(() => hexToBytes(`0x${character}0`)).toThrow(InvalidHexError);
  });

  it("takes time in proportion to the length: 16 MB of hex within 5 seconds", () => {
    const bytes = new Uint8Array(8_000_000).fill(0xa5);
    const started = performance.now();
    expect(hexToBytes(bytesToHex(bytes)).length).toBe(bytes.length);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("integers as bytes", () => {
  it("writes the shortest form, and 0 as no bytes", () => {
    expect(bigIntToBytes(0n)).toEqual(new Uint8Array(0));
    expect(bigIntToBytes(1n)).toEqual(Uint8Array.of(1));
    expect(bigIntToBytes(255n)).toEqual(Uint8Array.of(255));
    expect(bigIntToBytes(256n)).toEqual(Uint8Array.of(1, 0));
    expect(bigIntToBytes(2n ** 256n - 1n)).toEqual(new Uint8Array(32).fill(255));
  });

  it("reads them back, leading zeros or not", () => {
    expect(bytesToBigInt(new Uint8Array(0))).toBe(0n);
    expect(bytesToBigInt(Uint8Array.of(0, 1, 0))).toBe(256n);
  });

  it("are read and written back alike at any length, and whatever word was read before", () => {
    for (let length = 40; length >= 1; length--) {
      const bytes = Uint8Array.from({ length }, (_, i) => 255 - 3 * i);
      const expected = bytes.reduce((value, byte) => 256n * value + BigInt(byte), 0n);
      expect(bytesToBigInt(bytes)).toBe(expected);
      expect(bigIntToBytes(expected)).toEqual(bytes);
    }
  });

  it("refuses a negative integer", () => {
    expect(() => bigIntToBytes(-1n)).toThrow(RangeError);
  });
});

describe("bytes", () => {
  it("are equal by content and length", () => {
    expect(bytesEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
    expect(bytesEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
    expect(bytesEqual(Uint8Array.of(1, 2), Uint8Array.of(3, 2))).toBe(false);
    expect(bytesEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 2, 0))).toBe(false);
  });

  it("are joined in order", () => {
    expect(concatBytes()).toEqual(new Uint8Array(0));
    expect(concatBytes(Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3))).toEqual(
      Uint8Array.of(1, 2, 3),
    );
  });
});
