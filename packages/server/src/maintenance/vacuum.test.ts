import { expect, it } from "vitest";
import { restAfter } from "./vacuum.js";

it("rests nine times as long as a vacuum took, and at least a second", () => {
  expect([0, 100, 1_000].map(restAfter)).toEqual([1_000, 1_000, 9_000]);
});
