import { expect, it } from "vitest";
import { createRefusedKeys } from "./refusedKeys.js";

it("names the ten keys that were refused most in the last 30 to 60 s, and forgets them then", () => {
  let time = 0;
  const keys = createRefusedKeys(() => time);
  time = 1_000;
  for (let key = 1; key <= 12; key++) for (let i = 0; i < key; i++) keys.add(`key ${key}`);
  expect(keys.most()).toHaveLength(10);
  expect(keys.most()[0]).toEqual(["key 12", 12]);
  time = 31_000;
  keys.add("key 1");
  time = 59_000;
  expect(keys.most()[0]).toEqual(["key 12", 12]);
  time = 60_500;
  expect(keys.most()).toEqual([["key 1", 1]]);
  time = 1_000_000;
  expect(keys.most()).toEqual([]);
});
