import { expect, it } from "vitest";
import { restAfter } from "./vacuum.js";

it("rests nine times as long as a vacuum took, and at least a second", () => {
  expect([0, 100, 1_000].map((tookMs) => restAfter(tookMs, 0))).toEqual([1_000, 1_000, 9_000]);
});

it("rests twice as long after each vacuum that could remove little, up to half a minute", () => {
  expect([1, 2, 5, 100].map((inVain) => restAfter(100, inVain))).toEqual([2_000, 4_000, 30_000, 30_000]);
  expect(restAfter(10_000, 1)).toBe(90_000);
});
