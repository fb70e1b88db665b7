import { describe, expect, it } from "vitest";
import { createBreaker } from "./breaker.js";

/** Creates a breaker on a clock that the test moves. */
function breakerAt({ failures = 3, openMs = 100, maxOpenMs = 1_000 } = {}) {
  const clock = { ms: 5_000 };
  const breaker = createBreaker({ failures, openMs, maxOpenMs, now: () => clock.ms });
  return { breaker, pass: (ms: number) => (clock.ms += ms) };
}

describe("a breaker", () => {
  it("stays closed until its number of failures in a row", () => {
    const { breaker } = breakerAt();
    expect(breaker.state).toBe("closed");
    expect([breaker.fail("counted"), breaker.fail("counted")]).toEqual([undefined, undefined]);
    expect(breaker.state).toBe("closed");
    expect(breaker.fail("counted")).toBe(100);
    expect(breaker.state).toBe("open");
  });

  it("counts only failures in a row", () => {
    const { breaker } = breakerAt();
    for (let i = 0; i < 10; i++) {
      breaker.fail("counted");
      breaker.fail("counted");
      expect(breaker.succeed()).toBe(false);
    }
    expect(breaker.state).toBe("closed");
  });

  it("opens at once for a failure that lies with the key itself", () => {
    const { breaker } = breakerAt();
    expect(breaker.fail("decisive")).toBe(100);
    expect(breaker.state).toBe("open");
  });

  it("probes when its time is over, not a millisecond before", () => {
    const { breaker, pass } = breakerAt();
    breaker.fail("decisive");
    pass(99);
    expect(breaker.state).toBe("open");
    pass(1);
    expect(breaker.state).toBe("probing");
  });

  it("closes with the probe's success, and reports that once", () => {
    const { breaker, pass } = breakerAt();
    breaker.fail("decisive");
    pass(100);
    expect(breaker.succeed()).toBe(true);
    expect(breaker.state).toBe("closed");
    expect(breaker.succeed()).toBe(false);
  });

  it("opens again with the probe's first failure, for twice as long each time, up to the limit", () => {
    const { breaker, pass } = breakerAt();
    const openings = [breaker.fail("decisive")];
    for (let i = 0; i < 6; i++) {
      pass(openings.at(-1) ?? 0);
      expect(breaker.state).toBe("probing");
      openings.push(breaker.fail("counted"));
      expect(breaker.state).toBe("open");
    }
    expect(openings).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
  });

  it("stays open as long as it was to, although old wrappers fail again meanwhile", () => {
    const { breaker, pass } = breakerAt();
    breaker.fail("decisive");
    pass(99);
    expect([breaker.fail("decisive"), breaker.fail("counted")]).toEqual([undefined, undefined]);
    pass(1);
    expect(breaker.state).toBe("probing");
  });

  it("starts again with the short time after it has closed", () => {
    const { breaker, pass } = breakerAt();
    pass(breaker.fail("decisive") ?? 0);
    pass(breaker.fail("counted") ?? 0);
    breaker.succeed();
    expect([breaker.fail("counted"), breaker.fail("counted"), breaker.fail("counted")]).toEqual([
      undefined,
      undefined,
      100,
    ]);
  });

  it("stays at its limit however often it fails", () => {
    const { breaker, pass } = breakerAt();
    for (let i = 0; i < 2_000; i++) pass(breaker.fail("decisive") ?? Number.NaN);
    expect(breaker.fail("decisive")).toBe(1_000);
  });
});
