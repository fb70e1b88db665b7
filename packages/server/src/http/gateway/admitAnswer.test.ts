import { expect, it } from "vitest";
import { admitAnswer } from "./admitAnswer.js";

it("a large answer waits for the turn of its party, and a small one does not", async () => {
  const turns: number[] = [];
  const run = async <T>(bytes: number, slice: () => T) => {
    turns.push(bytes);
    return slice();
  };
  await admitAnswer("a".repeat(1_000), run);
  await admitAnswer("a".repeat(100_000), run);
  expect(turns).toEqual([100_000]);
});
