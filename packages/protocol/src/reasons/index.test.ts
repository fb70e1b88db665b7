import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import {
  codeOf,
  isReason,
  isValidatorReason,
  LINE_CODES,
  REASONS,
  REQUEST_ONLY_CODES,
  type Reason,
  statusOf,
} from "./index.js";

const reasons = Object.keys(REASONS) as Reason[];
const codes: readonly string[] = [...LINE_CODES, ...REQUEST_ONLY_CODES];

describe("the error codes", () => {
  it("of a result line are the eight of docs/protocol.md#error-codes, in their order", () => {
    expect(LINE_CODES).toEqual([
      "PARSE_ERROR",
      "INVALID_REQUEST",
      "BATCH_SIZE_EXCEEDED",
      "VALIDATION_FAILED",
      "BROADCAST_FAILED",
      "RATE_LIMITED",
      "QUEUE_FULL",
      "TIMEOUT",
    ]);
  });

  it("each have a reason", () => {
    expect(new Set(reasons.map(codeOf))).toEqual(new Set(codes));
  });
});

describe("a reason", () => {
  it.each(reasons)("%s is a stable upper-case name and belongs to one code", (reason) => {
    expect(reason).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(codes).toContain(codeOf(reason));
    expect(new ProtocolError(reason, "why").code).toBe(codeOf(reason));
  });
});

describe("a reason that validators give", () => {
  const vectors = readFileSync(new URL("../../vectors/wrappers.json", import.meta.url), "utf8");

  // The vectors have no access lists of thousands of entries. The devnet's tests have that reason.
  it.each(reasons.filter(isValidatorReason).filter((reason) => reason !== "TRANSACTION_TOO_LARGE"))(
    "has a case in the vectors (test/vectors/cases, npm run vectors): %s",
    (reason) => {
      expect(vectors).toContain(`"${reason}"`);
    },
  );
});

describe("isReason", () => {
  it("knows the closed list, and no name that every object inherits", () => {
    expect(isReason("NONCE_TOO_LOW")).toBe(true);
    expect(isReason("NO_SUCH_REASON")).toBe(false);
    expect(isReason("toString")).toBe(false);
    expect(isReason("__proto__")).toBe(false);
  });
});

describe("the status of a request refused as a whole (D21)", () => {
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
