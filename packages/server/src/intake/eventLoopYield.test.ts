import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createEventLoopYield } from "./eventLoopYield.js";

/** Takes turns of these sizes at once; the names of those that have had theirs. */
function taking(most: number, sizes: readonly number[]): string[] {
  const turns = createEventLoopYield(most);
  const begun: string[] = [];
  sizes.forEach((size, i) => void turns.acquire(size).then(() => begun.push(`${i}: ${size}`)));
  return begun;
}

describe("turns to look at transactions", () => {
  it("come at once where nobody else looks", async () => {
    const begun = taking(10, [100]);
    await Promise.resolve();
    expect(begun).toEqual(["0: 100"]);
  });

  it("let so many be looked at between two turns of the event loop, in the order in which they came", async () => {
    const begun = taking(10, [5, 5, 5, 5, 5]);
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await Promise.resolve();
      seen.push([...begun]);
      await setImmediate();
    }
    const all = ["0: 5", "1: 5", "2: 5", "3: 5", "4: 5"];
    expect(seen).toEqual([all.slice(0, 2), all.slice(0, 4), all]);
  });

  it("pass what is larger than a turn whole", async () => {
    const begun = taking(10, [25, 25]);
    await Promise.resolve();
    expect(begun).toEqual(["0: 25"]);
    await setImmediate();
    expect(begun).toEqual(["0: 25", "1: 25"]);
  });

  it("begin anew after a rest", async () => {
    const turns = createEventLoopYield(10);
    for (let i = 0; i < 3; i++) {
      let begun = false;
      void turns.acquire(25).then(() => {
        begun = true;
      });
      await Promise.resolve();
      expect(begun).toBe(true);
      await setImmediate();
      await setImmediate();
    }
  });
});
