import { describe, expect, it } from "vitest";
import { createFairSemaphore, TooManyWaitingError } from "./fairSemaphore.js";

/** A work that ends when it is told to. */
function work(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return {
    end,
    run: async () => {
      log.push(name);
      await ended;
      return name;
    },
  };
}

describe("turns", () => {
  it("run so many at once, and the others in the order in which they came, also after a failure", async () => {
    const log: string[] = [];
    const turns = createFairSemaphore(2, 10);
    const works = ["a", "b", "c", "d"].map((name) => work(log, name));
    const failing = turns.run(() => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    const running = works.map(({ run }) => turns.run(run));
    expect(log).toEqual(["a", "b"]);
    works[1]?.end();
    await running[1];
    expect(log).toEqual(["a", "b", "c"]);
    for (const { end } of works) end();
    expect(await Promise.all(running)).toEqual(["a", "b", "c", "d"]);
  });

  it("are given to the parties in turn, and one party cannot have all the places in which to wait", async () => {
    const log: string[] = [];
    const turns = createFairSemaphore(1, 4, 3);
    const works = ["a1", "a2", "a3", "a4", "b1"].map((name) => work(log, name));
    const running = works.map(({ run }, i) => turns.run(run, i < 4 ? "a" : "b"));
    await expect(turns.run(async () => "a5", "a")).rejects.toThrow(TooManyWaitingError);
    await expect(turns.run(async () => "c1", "c")).rejects.toThrow(TooManyWaitingError);
    for (const { end } of works) end();
    await Promise.all(running);
    expect(log).toEqual(["a1", "a2", "b1", "a3", "a4"]);
    expect(await turns.run(async () => "a6", "a")).toBe("a6");
  });

  it("are refused at once when as many wait as may", async () => {
    const log: string[] = [];
    const turns = createFairSemaphore(1, 1);
    const [first, second] = [work(log, "first"), work(log, "second")];
    const running = [turns.run(first.run), turns.run(second.run)];
    await expect(turns.run(async () => "third")).rejects.toThrow(TooManyWaitingError);
    first.end();
    second.end();
    await Promise.all(running);
    expect(await turns.run(async () => "fourth")).toBe("fourth");
  });
});
