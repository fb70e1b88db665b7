import { describe, expect, it } from "vitest";
import { createFairSemaphore, TooManyWaitingError } from "./fairSemaphore.js";

/** Makes a task that the test ends. */
function taskOf(log: string[], name: string) {
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

describe("a fair semaphore", () => {
  it("runs a number of tasks at once, and the others in their order, also after a failure", async () => {
    const log: string[] = [];
    const semaphore = createFairSemaphore(2, 10);
    const tasks = ["a", "b", "c", "d"].map((name) => taskOf(log, name));
    const failing = semaphore.run(() => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    const running = tasks.map(({ run }) => semaphore.run(run));
    expect(log).toEqual(["a", "b"]);
    tasks[1]?.end();
    await running[1];
    expect(log).toEqual(["a", "b", "c"]);
    for (const { end } of tasks) end();
    expect(await Promise.all(running)).toEqual(["a", "b", "c", "d"]);
  });

  it("gives each party its turn, and bounds the waiting tasks of one party", async () => {
    const log: string[] = [];
    const semaphore = createFairSemaphore(1, 4, 3);
    const tasks = ["a1", "a2", "a3", "a4", "b1"].map((name) => taskOf(log, name));
    const running = tasks.map(({ run }, i) => semaphore.run(run, i < 4 ? "a" : "b"));
    await expect(semaphore.run(async () => "a5", "a")).rejects.toThrow(TooManyWaitingError);
    await expect(semaphore.run(async () => "c1", "c")).rejects.toThrow(TooManyWaitingError);
    for (const { end } of tasks) end();
    await Promise.all(running);
    expect(log).toEqual(["a1", "a2", "b1", "a3", "a4"]);
    expect(await semaphore.run(async () => "a6", "a")).toBe("a6");
  });

  it("refuses a task at once when there is no room to wait", async () => {
    const log: string[] = [];
    const semaphore = createFairSemaphore(1, 1);
    const [first, second] = [taskOf(log, "first"), taskOf(log, "second")];
    const running = [semaphore.run(first.run), semaphore.run(second.run)];
    await expect(semaphore.run(async () => "third")).rejects.toThrow(TooManyWaitingError);
    first.end();
    second.end();
    await Promise.all(running);
    expect(await semaphore.run(async () => "fourth")).toBe("fourth");
  });
});
