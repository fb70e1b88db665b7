// Ages by the database's clock and the monotonic one, while the database's clock steps.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DatabaseClock } from "./databaseClock.js";
import { createIds } from "./ids.js";

const MINUTE = 60_000;
const LIMIT_MS = 10 * MINUTE;
const START_MS = Date.parse("2030-01-31T12:00:00Z");

/** A database and a process, whose clocks the test moves. */
function simulated() {
  let now = 5_000;
  let offset = START_MS;
  const clock = new DatabaseClock(() => now);
  const read = () => new Date(now + offset);
  clock.note(read());
  return {
    clock,
    read,
    now: () => now,
    /** Lets time pass, with a reading every second. */
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 1_000) {
        now += Math.min(1_000, ms - passed);
        clock.note(read());
      }
    },
    step(ms: number) {
      offset += ms;
    },
  };
}
const isBefore = (clock: DatabaseClock, written: Date, ms = LIMIT_MS) =>
  written.getTime() < (clock.before(ms)?.getTime() ?? Number.NEGATIVE_INFINITY);

describe("the age of a row", () => {
  it("is over a limit once both clocks have measured it, and the process has watched for so long", () => {
    const { clock, read, pass } = simulated();
    const written = read();
    pass(LIMIT_MS - 1_000);
    expect([isBefore(clock, written), clock.before(LIMIT_MS)]).toEqual([false, undefined]);
    pass(2_000);
    expect(isBefore(clock, written)).toBe(true);
    expect(clock.ageOf(written)).toBeGreaterThanOrEqual(LIMIT_MS);
  });

  it("is two seconds after the database's clock has stepped 12 minutes forwards, and over the limit in time", () => {
    const { clock, read, pass, step } = simulated();
    pass(30 * MINUTE);
    const written = read();
    pass(2_000);
    step(12 * MINUTE);
    pass(1_000);
    expect(isBefore(clock, written)).toBe(false);
    expect(clock.ageOf(written)).toBeLessThan(5_000);
    pass(LIMIT_MS);
    expect(isBefore(clock, written)).toBe(true);
  });

  it("is delayed by a step back, and by no more", () => {
    const { clock, read, pass, step } = simulated();
    pass(30 * MINUTE);
    const written = read();
    step(-12 * MINUTE);
    pass(LIMIT_MS + 1_000);
    expect(isBefore(clock, written)).toBe(false);
    pass(12 * MINUTE);
    expect(isBefore(clock, written)).toBe(true);
  });

  it("is never more than has passed, whatever steps the database's clock makes", () => {
    const events = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1_000, max: 15 * MINUTE }) }),
        fc.record({
          kind: fc.constant("step" as const),
          ms: fc.integer({ min: -60 * MINUTE, max: 60 * MINUTE }),
        }),
        fc.record({ kind: fc.constant("write" as const), ms: fc.constant(0) }),
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(events, (happened) => {
        const { clock, read, now, pass, step } = simulated();
        const rows: { readonly written: Date; readonly at: number }[] = [];
        for (const { kind, ms } of happened) {
          if (kind === "pass") pass(ms);
          else if (kind === "write") rows.push({ written: read(), at: now() });
          else {
            step(ms);
            clock.note(read());
          }
          for (const { written, at } of rows) {
            expect(clock.ageOf(written)).toBeLessThanOrEqual(now() - at + 1);
            expect(isBefore(clock, written)).toBe(isBefore(clock, written) && now() - at >= LIMIT_MS);
            expect(written < clock.longBefore(LIMIT_MS) && now() - at < LIMIT_MS).toBe(false);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("needs few samples, though the clocks differ in speed", () => {
    const { clock, read, pass, step } = simulated();
    const written = read();
    for (let i = 0; i < 3_600; i++) {
      pass(1_000);
      step(i % 2 === 0 ? 1 : -0.5);
    }
    expect(clock.ageOf(written)).toBeGreaterThan(59 * MINUTE);
  });
});

describe("the ids of submissions", () => {
  const timeOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const DAYS = 3.5 * 86_400_000;

  it("rise, also within a millisecond, and are of the database's time", () => {
    const { clock, read, pass } = simulated();
    const newId = createIds(clock);
    const ids = Array.from({ length: 200 }, (_, i) => {
      if (i % 50 === 0) pass(3);
      return newId();
    });
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(200);
    expect(timeOf(ids.at(-1) ?? "")).toBe(read().getTime());
  });

  it("are not moved by a clock that is days ahead for 14 s, and follow one that stays there", () => {
    const { clock, read, pass, step } = simulated();
    const newId = createIds(clock);
    pass(MINUTE);
    step(DAYS);
    pass(14_000);
    expect(timeOf(newId())).toBe(read().getTime() - DAYS);
    step(-DAYS);
    pass(1_000);
    expect(timeOf(newId())).toBe(read().getTime());
    step(DAYS);
    pass(31_000);
    expect(timeOf(newId())).toBe(read().getTime());
  });

  it("are right again at once when a clock that was days ahead is set back", () => {
    const { clock, read, pass, step } = simulated();
    const newId = createIds(clock);
    step(DAYS);
    pass(MINUTE);
    newId();
    step(-DAYS);
    pass(1_000);
    expect(timeOf(newId())).toBe(read().getTime());
  });
});
