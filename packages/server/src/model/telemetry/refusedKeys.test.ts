import { expect, it } from "vitest";
import { RefusedKeys } from "./refusedKeys.js";

it("names the ten keys that were refused most in the last 30 to 60 s, and forgets them then", () => {
  const keys = new RefusedKeys(0);
  for (let key = 1; key <= 12; key++) for (let i = 0; i < key; i++) keys.add(`key ${key}`, 1_000);
  expect(keys.most(1_000)).toHaveLength(10);
  expect(keys.most(1_000)[0]).toEqual(["key 12", 12]);
  keys.add("key 1", 31_000);
  expect(keys.most(59_000)[0]).toEqual(["key 12", 12]);
  expect(keys.most(60_500)).toEqual([["key 1", 1]]);
  expect(keys.most(1_000_000)).toEqual([]);
});
