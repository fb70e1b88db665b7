import { encodeErrorResult, parseAbi } from "viem";
import { describe, expect, it } from "vitest";
import { type Hex, hexToBytes } from "../encoding/hex.js";
import { decodeRevert, revertDataIn, revertText } from "./revert.js";

const abi = parseAbi(["error Error(string text)", "error Panic(uint256 code)", "error Broke(uint256 left)"]);
const errorOf = (text: string) => encodeErrorResult({ abi, errorName: "Error", args: [text] });
const read = (data: Hex) => decodeRevert(hexToBytes(data));

describe("the data of a revert", () => {
  it("with a text yields the text", () => {
    expect(read(errorOf("too little, too late: äöü"))).toEqual({
      kind: "error",
      message: "too little, too late: äöü",
    });
    expect(read(errorOf(""))).toEqual({ kind: "error", message: "" });
  });

  it("with a text of megabytes, or of control characters, is short and harmless", () => {
    const text = "x\u0000\u001b\n".repeat(500_000);
    const { message } = read(errorOf(text));
    expect(message.length).toBeLessThanOrEqual(1_001);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(revertText(hexToBytes(errorOf(text)))).toBe(text);
  });

  it.each([
    [0x01n, "panic 0x01: a failed assertion"],
    [0x11n, "panic 0x11: an arithmetic overflow or underflow"],
    [0x32n, "panic 0x32: an index out of bounds"],
    [2n ** 255n, "a fault of another kind"],
  ])("with the panic %i tells its meaning", (code, message) => {
    const revert = read(encodeErrorResult({ abi, errorName: "Panic", args: [code] }));
    expect(revert.kind).toBe("panic");
    expect(revert.message).toContain(message);
  });

  it("with an error of the contract's own names its selector", () => {
    const data = encodeErrorResult({ abi, errorName: "Broke", args: [5n] });
    expect(read(data)).toEqual({
      kind: "custom",
      message: `with the contract's own error ${data.slice(0, 10)}`,
    });
  });

  it("that is empty, too short, or does not fit its selector is returned as it is", () => {
    expect(read("0x")).toEqual({ kind: "empty", message: "without a reason" });
    expect(read("0xdead")).toEqual({ kind: "custom", message: "with the data 0xdead" });
    for (const data of ["0x08c379a0", "0x4e487b71ff", `0x08c379a0${"ff".repeat(64)}`] as const) {
      expect(read(data).kind).toBe("custom");
      expect(revertText(hexToBytes(data))).toBeUndefined();
    }
  });
});

describe("the data of a node's error", () => {
  it.each([
    ["0x08c379a0", "0x08c379a0"],
    [{ data: "0xAB" }, "0xAB"],
    [{ message: "reverted", data: { data: "0x" } }, "0x"],
    ["Reverted 0x12", undefined],
    ["0x1", undefined],
    [{}, undefined],
    [null, undefined],
    [7, undefined],
  ])("in %j is %s", (data, expected) => {
    expect(revertDataIn(data)).toBe(expected);
  });

  it("is searched to a limited depth", () => {
    let data: unknown = "0x12";
    for (let depth = 0; depth < 10_000; depth++) data = { data };
    expect(revertDataIn(data)).toBeUndefined();
  });
});
