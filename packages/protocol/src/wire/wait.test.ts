import { describe, expect, it } from "vitest";
import { refusal } from "../../test/support/fixtures.js";
import { parseWait } from "./wait.js";

describe("parseWait (D16)", () => {
  it("returns broadcast if the value is absent", () => {
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
