import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import { errorBodyOf, parseErrorBody, parseRequestErrorBody, requestErrorBody } from "./errorBody.js";
import { WireError } from "./wireError.js";

describe("an error body", () => {
  const error = new ProtocolError("NONCE_TOO_LOW", "nonce 1 is used", { nonce: "1" });

  it("has code, message and reason in this order, and nothing else", () => {
    expect(JSON.stringify(errorBodyOf(error))).toBe(
      '{"code":"VALIDATION_FAILED","message":"nonce 1 is used","reason":"NONCE_TOO_LOW"}',
    );
  });

  it("is under `error` in the response to a request refused as a whole (D21), and reads back", () => {
    const body = requestErrorBody(error);
    expect(JSON.stringify(body)).toMatch(/^\{"error":\{"code":/);
    expect(parseRequestErrorBody(JSON.parse(JSON.stringify(body)))).toEqual(body);
  });

  it.each([
    [undefined],
    [null],
    ["TIMEOUT"],
    [{}],
    [{ code: "NEW", message: "m" }],
    [{ code: "__proto__", message: "m" }],
  ])("is not %j", (value) => {
    expect(() => parseErrorBody(value)).toThrow(WireError);
    expect(() => parseRequestErrorBody({ error: value })).toThrow(WireError);
    expect(() => parseRequestErrorBody(value)).toThrow(WireError);
  });

  it("keeps the received value in the error, for the log", () => {
    expect(() => parseErrorBody({ code: 1 })).toThrow(expect.objectContaining({ received: { code: 1 } }));
  });
});
