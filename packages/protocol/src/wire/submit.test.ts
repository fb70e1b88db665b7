import { describe, expect, it } from "vitest";
import { refusal } from "../fixtures.test-support.js";
import {
  encodeResultLine,
  parseResultLine,
  parseSubmitRequest,
  parseWait,
  type ResultLine,
} from "./submit.js";
import { WireError } from "./WireError.js";

const parse = (json: string) => parseSubmitRequest(JSON.parse(json), 100);
const batch = (length: number, element = '"0x00"') =>
  `{"transactions":[${Array(length).fill(element).join(",")}]}`;

describe("parseSubmitRequest (D21)", () => {
  it("takes the strings as they are: what is in them is for their own lines", () => {
    expect(parse('{"transactions":["0x00","no hex",""]}')).toEqual({ transactions: ["0x00", "no hex", ""] });
  });

  it("takes a batch at the limit, and ignores members it does not know", () => {
    expect(parse(batch(100)).transactions).toHaveLength(100);
    expect(parse('{"transactions":["0x"],"more":1}')).toEqual({ transactions: ["0x"] });
  });

  it.each([
    ["null", "MALFORMED_BODY", "not a JSON object"],
    ["[]", "MALFORMED_BODY", "not a JSON object"],
    ['["0x00"]', "MALFORMED_BODY", "not a JSON object"],
    ['"0x00"', "MALFORMED_BODY", "not a JSON object"],
    ["1", "MALFORMED_BODY", "not a JSON object"],
    ["{}", "MALFORMED_BODY", "no member `transactions`"],
    ['{"Transactions":["0x00"]}', "MALFORMED_BODY", "no member `transactions`"],
    ['{"__proto__":{"transactions":["0x00"]}}', "MALFORMED_BODY", "no member `transactions`"],
    ['{"transactions":null}', "MALFORMED_BODY", "`transactions` is null, not an array"],
    ['{"transactions":"0x00"}', "MALFORMED_BODY", '`transactions` is "0x00", not an array'],
    [
      '{"transactions":{"length":1,"0":"0x00"}}',
      "MALFORMED_BODY",
      "`transactions` is an object, not an array",
    ],
    ['{"transactions":[]}', "EMPTY_BATCH", "`transactions` is empty"],
    ['{"transactions":["0x00",7]}', "MALFORMED_BODY", "transactions[1] is the number 7, not a string"],
    ['{"transactions":[null]}', "MALFORMED_BODY", "transactions[0] is null, not a string"],
    ['{"transactions":[["0x00"]]}', "MALFORMED_BODY", "transactions[0] is an array, not a string"],
    ['{"transactions":[{}]}', "MALFORMED_BODY", "transactions[0] is an object, not a string"],
    ['{"transactions":[true]}', "MALFORMED_BODY", "transactions[0] is the boolean true, not a string"],
  ])("refuses %s whole", (json, reason, message) => {
    const error = refusal(() => parse(json));
    expect(error).toMatchObject({ reason, code: "INVALID_REQUEST" });
    expect(error.message).toContain(message);
  });

  it("refuses 101 transactions, whatever they are, and names both numbers", () => {
    for (const json of [batch(101), batch(101, "7")]) {
      const error = refusal(() => parse(json));
      expect(error).toMatchObject({ reason: "BATCH_TOO_LARGE", code: "BATCH_SIZE_EXCEEDED" });
      expect(error.message).toContain("101");
      expect(error.values).toEqual({ transactions: 101, maxBatchSize: 100 });
    }
  });

  it("does not take what the body inherits for what it says", () => {
    const error = refusal(() => parseSubmitRequest(Object.create({ transactions: ["0x00"] }), 100));
    expect(error.message).toContain("no member `transactions`");
  });

  it("keeps its message short, however long what it refuses is", () => {
    const error = refusal(() => parseSubmitRequest({ transactions: "x".repeat(1_000_000) }, 100));
    expect(error.message.length).toBeLessThan(200);
  });
});

describe("parseWait (D16)", () => {
  it("is broadcast unless told otherwise", () => {
    expect(parseWait(undefined)).toBe("broadcast");
    expect(parseWait("broadcast")).toBe("broadcast");
    expect(parseWait("included")).toBe("included");
  });

  it.each([["Included"], [""], [null], [1], [["included"]], [{}]])("refuses %j", (value) => {
    const error = refusal(() => parseWait(value));
    expect(error).toMatchObject({ reason: "MALFORMED_QUERY", code: "INVALID_REQUEST" });
    expect(error.message).toContain("it can be broadcast or included");
  });

  it("refuses an array nested 100,000 deep with its own error", () => {
    const deep: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(refusal(() => parseWait(deep)).message).toContain("an array");
  });
});

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const txHash = `0x${"ab".repeat(32)}`;
const good: ResultLine = { index: 0, id, success: true, txHash };
const bad: ResultLine = {
  index: 1,
  id,
  success: false,
  error: { code: "VALIDATION_FAILED", message: "no\nmore", reason: "NONCE_TOO_LOW" },
};

describe("a result line (D13)", () => {
  it("has exactly the document's members, in its order", () => {
    expect(encodeResultLine(good)).toBe(`{"index":0,"id":"${id}","success":true,"txHash":"${txHash}"}`);
    expect(encodeResultLine(bad)).toBe(
      `{"index":1,"id":"${id}","success":false,"error":{"code":"VALIDATION_FAILED","message":"no\\nmore","reason":"NONCE_TOO_LOW"}}`,
    );
  });

  it("has them in that order whatever the order of what it was made from, and nothing more", () => {
    const line = { secret: 1, txHash, success: true, id, index: 0 } as const;
    expect(encodeResultLine(line)).toBe(encodeResultLine(good));
    const error = { reason: "REVERTED", stack: "…", message: "m", code: "BROADCAST_FAILED" } as const;
    const failed = encodeResultLine({ error, success: false, id, index: 0 });
    expect(failed).toContain('"error":{"code":"BROADCAST_FAILED","message":"m","reason":"REVERTED"}}');
  });

  it("leaves out a reason that is not there", () => {
    const line = { index: 0, id, success: false, error: { code: "TIMEOUT", message: "late" } } as const;
    expect(encodeResultLine(line)).toContain('{"code":"TIMEOUT","message":"late"}');
    expect(parseResultLine(JSON.parse(encodeResultLine(line)))).toEqual(line);
  });

  it.each([good, bad])("reads back as it was", (line) => {
    expect(parseResultLine(JSON.parse(encodeResultLine(line)))).toEqual(line);
  });

  it("is read without the members and with the reasons of a newer service (D26)", () => {
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
    ["an index that is no integer", { ...good, index: 0.5 }],
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
      "an error with a reason that is no text",
      { ...bad, error: { code: "TIMEOUT", message: "m", reason: 1 } },
    ],
  ])("is refused with %s", (_, value) => {
    expect(() => parseResultLine(value)).toThrow(WireError);
  });
});
