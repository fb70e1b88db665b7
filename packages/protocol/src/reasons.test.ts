import { describe, expect, it } from "vitest";
import { ProtocolError } from "./protocolError.js";
import { codeOf, LINE_CODES, REASONS, REQUEST_ONLY_CODES, type Reason } from "./reasons.js";

const reasons = Object.keys(REASONS) as Reason[];
const codes: readonly string[] = [...LINE_CODES, ...REQUEST_ONLY_CODES];

describe("the codes", () => {
  it("of a line are the eight of docs/protocol.md#error-codes, in their order", () => {
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
