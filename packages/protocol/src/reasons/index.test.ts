import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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

const vectors = readFileSync(new URL("../../vectors/wrappers.json", import.meta.url), "utf8");

describe("a reason of the validators, or of a rule on an InnerTx", () => {
  // The vectors leave out hex, the service's limits of size, and conflicts with other submissions.
  const leftOut = ["INVALID_HEX", "DATA_TOO_LONG", "TRANSACTION_TOO_LARGE", "NONCE_CONFLICT"];
  const isOfVectors = (reason: Reason) =>
    isValidatorReason(reason) ||
    ["PARSE_ERROR", "VALIDATION_FAILED"].includes(codeOf(reason)) ||
    /^WRAPPER_|^WAIVER_/.test(reason);

  it.each(reasons.filter((reason) => isOfVectors(reason) && !leftOut.includes(reason)))(
    "has a case in the vectors (test/vectors/cases, npm run vectors): %s",
    (reason) => {
      expect(vectors.includes(`"${reason}"`)).toBe(true);
    },
  );
});

describe("a reason that a service gives", () => {
  const packages = fileURLToPath(new URL("../../../", import.meta.url));
  const tests = ["server/src", "server/test", "devnet/src"].flatMap((folder) =>
    readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => readFileSync(join(packages, folder, file), "utf8")),
  );

  // everyReason.test.ts wants it from a running service in each of its places, and takes much longer to say so.
  it.each(reasons)("is named by a test of the server or the devnet, or by the vectors: %s", (reason) => {
    expect([vectors, ...tests].some((text) => text.includes(reason))).toBe(true);
  });
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
