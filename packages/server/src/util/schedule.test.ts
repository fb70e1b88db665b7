import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSchedule, createTurns, createVisits } from "./schedule.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const now = () => performance.now();
/** Lets a time pass in which looks of any number follow each other. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a look", () => {
  it("comes again after the time that it returns, and rests without one until it is woken", async () => {
    const times: number[] = [];
    const rests = [100, 50, undefined];
    const startedAt = now();
    const look = createSchedule().look(async () => {
      times.push(now() - startedAt);
      return rests.shift();
    }, 10);
    await pass(1_000);
    expect(times).toEqual([10, 110, 160]);
    look.wake();
    await pass(0);
    expect(times).toEqual([10, 110, 160, 1_000]);
  });

  it("that is woken while it looks looks once more, and one that is started does not", async () => {
    let looks = 0;
    const look = createSchedule().look(async () => {
      looks++;
      await new Promise((resolve) => setTimeout(resolve, 10));
      return undefined;
    });
    look.start();
    await pass(5);
    look.start();
    await pass(100);
    expect(looks).toBe(1);
    look.wake();
    await pass(5);
    look.wake();
    await pass(100);
    expect(looks).toBe(3);
  });

  it("that is started keeps the time that is set", async () => {
    let looks = 0;
    const look = createSchedule().look(async () => {
      looks++;
      return 100;
    });
    look.start();
    await pass(50);
    look.start();
    await pass(0);
    expect(looks).toBe(1);
    await pass(50);
    expect(looks).toBe(2);
  });

  it("that has ended never comes again, and its end waits for it", async () => {
    const done: string[] = [];
    const look = createSchedule().look(async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      done.push("look");
      return 0;
    }, 0);
    await pass(5);
    const ended = look.end().then(() => done.push("end"));
    await pass(100);
    await ended;
    look.wake();
    await pass(100);
    expect(done).toEqual(["look", "end"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("looks that take turns", () => {
  it("look one after the other, five times a second; any other look waits for none", async () => {
    const schedule = createSchedule();
    const turns = createTurns(schedule);
    const looks: string[] = [];
    const add = (to: Pick<typeof turns, "look">, name: string, restMs: number | undefined) =>
      to.look(async () => {
        looks.push(name);
        return restMs;
      }, 0);
    add(turns, "a", 0);
    add(turns, "b", 0);
    const other = add(schedule, "other", 100);
    await pass(1_000);
    const taken = looks.filter((name) => name !== "other");
    expect(taken.length).toBeLessThanOrEqual(6);
    expect(taken.slice(0, 4)).toEqual(["a", "b", "a", "b"]);
    expect(looks.filter((name) => name === "other")).toHaveLength(11);
    await Promise.all([turns.end(), other.end()]);
  });

  it("leave their turn to the next while they have nothing to look at", async () => {
    const turns = createTurns(createSchedule());
    const looks: string[] = [];
    const add = (name: string, restMs: number | undefined) =>
      turns.look(async () => {
        looks.push(name);
        return restMs;
      });
    const all = [add("empty", undefined), add("full", 1_000)];
    for (const look of all) look.start();
    await pass(0);
    expect(looks).toEqual(["empty", "full"]);
    await turns.end();
  });
});

describe("a schedule without a timer", () => {
  it("has each thing looked at once a visit that is due, or becomes due meanwhile", async () => {
    const { look, visit } = createVisits();
    const looks: string[] = [];
    const later = look(async () => {
      looks.push("later");
      return undefined;
    });
    look(async () => {
      looks.push("now");
      later.start();
      return 0;
    }, 0);
    await pass(1_000);
    expect(looks).toEqual([]);
    await visit();
    expect(looks).toEqual(["now", "later"]);
  });
});
