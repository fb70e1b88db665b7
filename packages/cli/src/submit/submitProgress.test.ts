import { describe, expect, it } from "vitest";
import { progressLine } from "./submitProgress.js";

describe("the progress of a submit", () => {
  it.each([
    [0, 0, 0, "[------------------------] 0 of 5,000, 0 a second"],
    [2_500, 0, 100, "[############------------] 2,500 of 5,000, 100 a second, 25 s left"],
    [4_998, 2, 98.6, "[########################] 5,000 of 5,000, 2 failed, 99 a second"],
  ])("of %i and %i is a bar with counts", (succeeded, failed, perSecond, line) => {
    expect(progressLine({ total: 5_000, succeeded, failed, rateRefusals: 0 }, perSecond)).toBe(line);
  });

  it("says how often the key's rate was used up", () => {
    const line = progressLine({ total: 10, succeeded: 5, failed: 0, rateRefusals: 3 }, 5);
    expect(line).toMatch(/5 a second, 1 s left; the key's rate was used up 3 time\(s\)$/);
  });
});
