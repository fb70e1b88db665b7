import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import { REASONS, type Reason } from "../reasons.js";
import {
  errorBodyOf,
  isReason,
  parseErrorBody,
  parseRequestErrorBody,
  requestErrorBody,
  statusOf,
} from "./errorBody.js";
import { parseHealth } from "./health.js";
import { WireError } from "./WireError.js";

describe("an error body", () => {
  const error = new ProtocolError("NONCE_TOO_LOW", "nonce 1 is used", { nonce: "1" });

  it("says code, message and reason in this order, and nothing else", () => {
    expect(JSON.stringify(errorBodyOf(error))).toBe(
      '{"code":"VALIDATION_FAILED","message":"nonce 1 is used","reason":"NONCE_TOO_LOW"}',
    );
  });

  it("stands under `error` where a request is refused whole (D21), and reads back", () => {
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

  it("keeps what was received, for the log", () => {
    expect(() => parseErrorBody({ code: 1 })).toThrow(expect.objectContaining({ received: { code: 1 } }));
  });
});

describe("isReason", () => {
  it("knows the closed list, and nothing that every object has", () => {
    expect(isReason("NONCE_TOO_LOW")).toBe(true);
    expect(isReason("NO_SUCH_REASON")).toBe(false);
    expect(isReason("toString")).toBe(false);
    expect(isReason("__proto__")).toBe(false);
  });
});

describe("the status of a request refused whole (D21)", () => {
  it.each<[Reason, number]>([
    ["MALFORMED_JSON", 400],
    ["MALFORMED_BODY", 400],
    ["EMPTY_BATCH", 400],
    ["UNSUPPORTED_MEDIA_TYPE", 415],
    ["BODY_TOO_LARGE", 413],
    ["INVALID_IDEMPOTENCY_KEY", 400],
    ["IDEMPOTENCY_KEY_REUSED", 422],
    ["BATCH_TOO_LARGE", 413],
    ["MISSING_KEY", 401],
    ["UNKNOWN_KEY", 401],
    ["RATE_EXCEEDED", 429],
    ["QUEUE_AT_CAPACITY", 503],
    ["KEY_SHARE_EXHAUSTED", 503],
    ["STORE_UNAVAILABLE", 503],
    ["SHUTTING_DOWN", 503],
    ["NO_SUCH_PATH", 404],
    ["NO_SUCH_METHOD", 405],
    ["NO_SUCH_SUBMISSION", 404],
  ])("of %s is %i", (reason, status) => {
    expect(statusOf(reason)).toBe(status);
  });

  it("is an error status for every reason", () => {
    for (const reason of Object.keys(REASONS) as Reason[]) {
      expect(statusOf(reason)).toBeGreaterThanOrEqual(400);
      expect(statusOf(reason)).toBeLessThan(600);
    }
  });
});

describe("parseHealth (D24)", () => {
  it("reads status, version and chain id", () => {
    const health = { status: "ok", version: "1.0.0", chainId: 2201 } as const;
    expect(parseHealth({ ...health, newer: true })).toEqual(health);
  });

  it.each([
    [undefined],
    [{}],
    [{ status: "down", version: "1", chainId: 1 }],
    [{ status: "ok", version: 1, chainId: 1 }],
    [{ status: "ok", version: "1", chainId: "1" }],
  ])("refuses %j", (value) => {
    expect(() => parseHealth(value)).toThrow(WireError);
  });
});
