import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import {
  detailsOf,
  errorBodyOf,
  parseErrorBody,
  parseRequestErrorBody,
  requestErrorBody,
} from "./errorBody.js";
import { WireError } from "./wireError.js";

describe("an error body", () => {
  const error = new ProtocolError("NONCE_TOO_LOW", "nonce 1 is used", { nonce: "1", check: "inner nonce" });

  it("has code, message, reason and details in this order, and nothing else", () => {
    expect(JSON.stringify(errorBodyOf(error))).toBe(
      '{"code":"VALIDATION_FAILED","message":"nonce 1 is used","reason":"NONCE_TOO_LOW","details":{"retry":"corrected","nonce":"1"}}',
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

  it.each([[null], [[]], ["details"], [{ retry: 1 }]])("has no details %j", (details) => {
    const { code, message } = error;
    expect(() => parseErrorBody({ code, message, details })).toThrow(WireError);
  });

  it("is read without details, as an older service writes it, and with values of a newer one (D26)", () => {
    const older = { code: "TIMEOUT", message: "late", reason: "NOT_INCLUDED" };
    expect(parseErrorBody(older)).toEqual(older);
    const newer = { ...older, details: { retry: "tomorrow", newer: [1] } };
    expect(parseErrorBody(newer)).toEqual(newer);
  });

  it("keeps the received value in the error, for the log", () => {
    expect(() => parseErrorBody({ code: 1 })).toThrow(expect.objectContaining({ received: { code: 1 } }));
  });
});

describe("the details of an error", () => {
  const values = { retry: "later", nonce: "7", missing: "5", submission: "id" };
  const error = { reason: "NONCE_GAP", details: values } as const;

  it("are read with their types, by the reason", () => {
    const details = detailsOf(error, "NONCE_GAP");
    // The compiler holds the type.
    const missing: string | undefined = details?.missing;
    expect([missing, details]).toEqual(["5", values]);
    expect(detailsOf(error, "NONCE_TOO_LOW")).toBeUndefined();
    expect(detailsOf({ reason: "NONCE_GAP" }, "NONCE_GAP")).toEqual({});
  });

  it("leave out what is not listed for the reason, or not of its type", () => {
    const details = { retry: "tomorrow", nonce: 7, missing: "05", submission: "x".repeat(300), newer: 1 };
    expect(detailsOf({ reason: "NONCE_GAP", details }, "NONCE_GAP")).toEqual({ submission: "x".repeat(200) });
    const selectors = { selector: null, target: "0x12", allowedSelectors: ["0xa9059cbb", 1, "transfer"] };
    expect(detailsOf({ reason: "SELECTOR_NOT_ALLOWED", details: selectors }, "SELECTOR_NOT_ALLOWED")).toEqual(
      {
        selector: null,
        allowedSelectors: ["0xa9059cbb"],
      },
    );
  });
});
