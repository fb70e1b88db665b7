import { describe, expect, it } from "vitest";
import { ddmin } from "./ddmin.js";

const numbers = Array.from({ length: 12 }, (_, i) => i);

describe("delta debugging", () => {
  it.each([[[3]], [[0, 11]], [[2, 5, 7]], [[]]])("leaves %j, which together are enough", async (needed) => {
    const holds = async (part: readonly number[]) => needed.every((one) => part.includes(one));
    expect(await ddmin(numbers, holds)).toEqual(needed);
  });

  it("asks far fewer times than there are parts", async () => {
    let asked = 0;
    await ddmin(numbers, async (part) => {
      asked++;
      return part.includes(6);
    });
    expect(asked).toBeLessThan(15);
  });
});
