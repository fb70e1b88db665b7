import { expect, it } from "vitest";
import { forgetOldest } from "./forgetOldest.js";

it("forgets what was put in first, and only above the limit, whatever its key is", () => {
  const remembered = new Map([
    ["", 1],
    ["b", 2],
  ]);
  forgetOldest(remembered, 2);
  expect([...remembered.keys()]).toEqual(["", "b"]);
  remembered.set("c", 3);
  forgetOldest(remembered, 2);
  expect([...remembered.keys()]).toEqual(["b", "c"]);
  const names = new Set(["a", "b"]);
  forgetOldest(names, 1);
  expect([...names]).toEqual(["b"]);
});
