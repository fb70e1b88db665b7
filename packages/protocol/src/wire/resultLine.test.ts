import { describe, expect, it } from "vitest";
import { encodeResultLine, parseResultLine, type ResultLine } from "./resultLine.js";
import { WireError } from "./wireError.js";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const txHash = `0x${"ab".repeat(32)}`;
const good: ResultLine = { index: 0, id, success: true, txHash };
const bad: ResultLine = {
  index: 1,
  id,
  success: false,
  error: {
    code: "VALIDATION_FAILED",
    message: "no\nmore",
    reason: "NONCE_TOO_LOW",
    details: { retry: "corrected", nonce: "1" },
  },
};

describe("a result line (D13)", () => {
  it("has exactly the members of the protocol, in their order", () => {
    expect(encodeResultLine(good)).toBe(`{"index":0,"id":"${id}","success":true,"txHash":"${txHash}"}`);
    expect(encodeResultLine(bad)).toBe(
      `{"index":1,"id":"${id}","success":false,"error":{"code":"VALIDATION_FAILED","message":"no\\nmore","reason":"NONCE_TOO_LOW","details":{"retry":"corrected","nonce":"1"}}}`,
    );
  });

  it("is written in that order whatever the order of the given members, and without others", () => {
    const line = { secret: 1, txHash, success: true, id, index: 0 } as const;
    expect(encodeResultLine(line)).toBe(encodeResultLine(good));
    const error = { reason: "REVERTED", stack: "…", message: "m", code: "BROADCAST_FAILED" } as const;
    const failed = encodeResultLine({ error, success: false, id, index: 0 });
    expect(failed).toContain('"error":{"code":"BROADCAST_FAILED","message":"m","reason":"REVERTED"}}');
  });

  it("is written without a reason if the error has none", () => {
    const line = { index: 0, id, success: false, error: { code: "TIMEOUT", message: "late" } } as const;
    expect(encodeResultLine(line)).toContain('{"code":"TIMEOUT","message":"late"}');
    expect(parseResultLine(JSON.parse(encodeResultLine(line)))).toEqual(line);
  });

  it.each([good, bad])("reads back as it was", (line) => {
    expect(parseResultLine(JSON.parse(encodeResultLine(line)))).toEqual(line);
  });

  it("is read without the unknown members, and with the unknown reasons, of a newer service (D26)", () => {
    expect(parseResultLine({ ...good, newer: 1 })).toEqual(good);
    const error = { code: "TIMEOUT", message: "m", reason: "NEWER_REASON", newer: 1 };
    expect(parseResultLine({ index: 0, id, success: false, error })).toEqual({
      index: 0,
      id,
      success: false,
      error: { code: "TIMEOUT", message: "m", reason: "NEWER_REASON" },
    });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an array", []],
    ["an index below 0", { ...good, index: -1 }],
    ["an index that is not an integer", { ...good, index: 0.5 }],
    ["an index beyond what a number holds exactly", { ...good, index: 2 ** 53 }],
    ["an index as text", { ...good, index: "0" }],
    ["no id", { ...good, id: undefined }],
    ["success as text", { ...good, success: "true" }],
    ["no hash", { index: 0, id, success: true }],
    ["a short hash", { ...good, txHash: "0xab" }],
    ["a hash without 0x", { ...good, txHash: "ab".repeat(33) }],
    ["a hash with something after it", { ...good, txHash: `${txHash}\n` }],
    ["no error", { index: 0, id, success: false }],
    ["an error of an unknown code", { ...bad, error: { code: "toString", message: "m" } }],
    ["an error of a code that no line has", { ...bad, error: { code: "UNAUTHORIZED", message: "m" } }],
    ["an error without a message", { ...bad, error: { code: "TIMEOUT" } }],
    [
      "an error with a reason that is not a text",
      { ...bad, error: { code: "TIMEOUT", message: "m", reason: 1 } },
    ],
  ])("is refused with %s", (_, value) => {
    expect(() => parseResultLine(value)).toThrow(WireError);
  });
});
