import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSchedule, createTurns, type Schedule } from "./schedule.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const now = () => performance.now();
const fail = (error: unknown) => expect.unreachable(String(error));
/** Lets a time pass in which looks of any number follow each other. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a look", () => {
  it("comes again after the time that it returns, and rests without one until it is woken", async () => {
    const times: number[] = [];
    const rests = [100, 50, undefined];
    const startedAt = now();
    const look = createSchedule(fail).look(async () => {
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
    const look = createSchedule(fail).look(async () => {
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
    const look = createSchedule(fail).look(async () => {
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
    const look = createSchedule(fail).look(async () => {
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

it("rests for longer than a timer can run", async () => {
  const delays: unknown[] = [];
  const { setTimeout } = globalThis;
  // A spy of vitest would bring the clock of this test back whenever another file restores its own spies.
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    delays.push(ms);
    return setTimeout(run, ms);
  }) as typeof setTimeout;
  createSchedule(fail).look(async () => undefined, 2 ** 31);
  globalThis.setTimeout = setTimeout;
  expect(delays).toEqual([2 ** 31 - 1]);
});

describe("looks that take turns", () => {
  it("look one after the other, five times a second; any other look waits for none", async () => {
    const schedule = createSchedule(fail);
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
    const turns = createTurns(createSchedule(fail));
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

describe("whatever looks answer", () => {
  type Answer = { readonly is: "rest"; readonly ms: number | undefined } | { readonly is: "error" | "woken" };
  const anyAnswer: fc.Arbitrary<Answer> = fc.oneof(
    fc.record({
      is: fc.constant("rest" as const),
      ms: fc.constantFrom(-1, 0, 0.1, 1, 30, 700, 2 ** 31, Number.POSITIVE_INFINITY, undefined),
    }),
    fc.record({ is: fc.constantFrom("error" as const, "woken" as const) }),
  );
  const anyLooks = fc.array(fc.array(anyAnswer, { minLength: 1, maxLength: 4 }), { maxLength: 5 });
  /** A look that comes more often has taken the process for itself. */
  const MOST_LOOKS = 10_000;
  const LASTING_MS = 5_000;

  /** Adds a look that gives these answers in turns. Returns its times. */
  function addLook(schedule: Pick<Schedule, "look">, answers: readonly Answer[]): readonly number[] {
    const times: number[] = [];
    const look = schedule.look(async () => {
      times.push(now());
      if (times.length > MOST_LOOKS) return undefined;
      const answer = answers[times.length % answers.length];
      if (answer?.is === "error") throw new Error("failed");
      if (answer?.is === "rest") return answer.ms;
      look.wake();
      return undefined;
    }, 0);
    return times;
  }

  const longestRest = (times: readonly number[]) =>
    Math.max(...times.map((at, i) => (times[i + 1] ?? now()) - at));
  const restsAtMost = (answers: readonly Answer[]) =>
    Math.max(...answers.map((one) => (one.is === "rest" ? (one.ms ?? Number.POSITIVE_INFINITY) : 1_000)));

  it("no other waits for them, each comes again in its time, and none spins", async () => {
    await fc.assert(
      fc.asyncProperty(anyLooks, async (looks) => {
        const schedule = createSchedule(() => {});
        const regular = addLook(schedule, [{ is: "rest", ms: 50 }]);
        const others = looks.map((answers) => ({ answers, times: addLook(schedule, answers) }));
        await pass(LASTING_MS);
        expect(longestRest(regular)).toBeLessThanOrEqual(52);
        for (const { answers, times } of others) {
          expect(longestRest(times)).toBeLessThanOrEqual(Math.max(2, restsAtMost(answers) + 2));
          expect(times.length).toBeLessThanOrEqual(LASTING_MS + 2);
        }
        vi.clearAllTimers();
      }),
      { numRuns: 30 },
    );
  });

  it("no other waits for more than their turns", async () => {
    await fc.assert(
      fc.asyncProperty(anyLooks, async (looks) => {
        const turns = createTurns(createSchedule(() => {}));
        const regular = addLook(turns, [{ is: "rest", ms: 50 }]);
        for (const answers of looks) addLook(turns, answers);
        await pass(LASTING_MS);
        expect(longestRest(regular)).toBeLessThanOrEqual(50 + 203 * (looks.length + 1));
        vi.clearAllTimers();
      }),
      { numRuns: 30 },
    );
  });
});
