import { describe, expect, it } from "vitest";
import { refusal } from "../../../test/support/fixtures.js";
import { parseIdempotencyKey } from "./idempotencyKey.js";

describe("an Idempotency-Key (D18)", () => {
  it("is the header's value, or undefined without a header", () => {
    expect(parseIdempotencyKey(undefined)).toBeUndefined();
    for (const key of ["a", '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "~".repeat(255)]) {
      expect(parseIdempotencyKey(key)).toBe(key);
    }
  });

  it.each([
    ["", '""'],
    ["a b", '"a b"'],
    ["a\tb", '"a\\tb"'],
    ["ä", '"ä"'],
    ["~".repeat(256), "…"],
    [["a", "b"], "an array"],
  ])("is not %j", (value, named) => {
    const error = refusal(() => parseIdempotencyKey(value));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", reason: "INVALID_IDEMPOTENCY_KEY" });
    expect(error.message).toContain(named);
    expect(error.message.length).toBeLessThan(200);
  });
});
