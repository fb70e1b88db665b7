import { describe, expect, it } from "vitest";
import { TimedOutError, within } from "./within.js";

describe("within", () => {
  it("gives the result of work that is done in time", async () => {
    await expect(within(1_000, Promise.resolve("done"))).resolves.toBe("done");
  });

  it("passes on the error of work that fails in time", async () => {
    await expect(within(1_000, Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("rejects with TimedOutError when the work takes longer, and drops the later failure of that work", async () => {
    let fail: (error: Error) => void = () => {};
    const work = new Promise<void>((_, reject) => {
      fail = reject;
    });
    await expect(within(1, work)).rejects.toBeInstanceOf(TimedOutError);
    fail(new Error("nobody listens any more"));
  });
});
