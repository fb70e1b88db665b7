import { describe, expect, it } from "vitest";
import { refusal } from "../../test/support/fixtures.js";
import { parseSubmitRequest } from "./submitRequest.js";

const parse = (json: string) => parseSubmitRequest(JSON.parse(json), 100);
const batch = (length: number, element = '"0x00"') =>
  `{"transactions":[${Array(length).fill(element).join(",")}]}`;

describe("parseSubmitRequest (D21)", () => {
  it("accepts any strings, because each gets a line of its own", () => {
    expect(parse('{"transactions":["0x00","no hex",""]}')).toEqual({ transactions: ["0x00", "no hex", ""] });
  });

  it("accepts a batch at the limit, and ignores unknown members", () => {
    expect(parse(batch(100)).transactions).toHaveLength(100);
    expect(parse('{"transactions":["0x"],"more":1}')).toEqual({ transactions: ["0x"] });
  });

  it("reads `wait`, and refuses an unknown one", () => {
    expect(parse('{"transactions":["0x"],"wait":"included"}')).toEqual({
      transactions: ["0x"],
      wait: "included",
    });
    for (const wait of ['"soon"', "null", "true", '["included"]']) {
      expect(refusal(() => parse(`{"transactions":["0x"],"wait":${wait}}`)).reason).toBe("MALFORMED_QUERY");
    }
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

  it("refuses 101 transactions of any content, and names both numbers", () => {
    for (const json of [batch(101), batch(101, "7")]) {
      const error = refusal(() => parse(json));
      expect(error).toMatchObject({ reason: "BATCH_TOO_LARGE", code: "BATCH_SIZE_EXCEEDED" });
      expect(error.message).toContain("101");
      expect(error.values).toEqual({ transactions: 101, maxBatchSize: 100 });
    }
  });

  it("ignores a member that the body inherits", () => {
    const error = refusal(() => parseSubmitRequest(Object.create({ transactions: ["0x00"] }), 100));
    expect(error.message).toContain("no member `transactions`");
  });

  it("refuses a long value with a short message", () => {
    const error = refusal(() => parseSubmitRequest({ transactions: "x".repeat(1_000_000) }, 100));
    expect(error.message.length).toBeLessThan(200);
  });
});
