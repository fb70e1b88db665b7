import { describe, expect, it } from "vitest";
import { createSignatureRate } from "./signatureRate.js";

/** Takes what there is every `stepMs`, for so many seconds. Returns the number of tokens. */
function takeFor(
  rate: ReturnType<typeof createSignatureRate>,
  clock: { ms: number },
  s: number,
  stepMs = 10,
) {
  let taken = 0;
  for (const end = clock.ms + s * 1_000; clock.ms < end; clock.ms += stepMs) {
    while (rate.take() === 0) taken++;
  }
  return taken;
}

describe("the rate of signatures", () => {
  it("gives the tokens of the time that has passed, and nine tenths of them to a caller that comes late", () => {
    const clock = { ms: 0 };
    const rate = createSignatureRate(300, () => clock.ms);
    expect(takeFor(rate, clock, 10)).toBeGreaterThanOrEqual(2_950);
    expect(takeFor(rate, clock, 10, 90)).toBeGreaterThanOrEqual(2_700);
  });

  it("has no more than a tenth of a second's tokens after a pause", () => {
    const clock = { ms: 0 };
    const rate = createSignatureRate(300, () => clock.ms);
    clock.ms = 60_000;
    let taken = 0;
    while (rate.take() === 0) taken++;
    expect(taken).toBe(30);
    expect(rate.take()).toBeGreaterThan(0);
  });

  it("has no second with more calls than the rate, also after a pause", () => {
    const clock = { ms: 0 };
    const rate = createSignatureRate(300, () => clock.ms);
    const times: number[] = [];
    for (; clock.ms < 4_000; clock.ms += clock.ms === 2_000 ? 700 : 3) {
      while (rate.take() === 0) times.push(clock.ms);
    }
    times.forEach((time, i) => {
      expect(time - (times[i - 300] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(1_000);
    });
  });

  it("pauses as long as the custody asks, falls by a tenth for one excess, and recovers", () => {
    const clock = { ms: 0 };
    const rate = createSignatureRate(300, () => clock.ms);
    for (let i = 0; i < 20; i++) rate.throttle(2_000);
    expect(rate.perSecond).toBe(270);
    expect(rate.take()).toBe(2_000);
    clock.ms = 1_999;
    expect(rate.take()).toBe(1);
    clock.ms = 2_000;
    expect(takeFor(rate, clock, 1)).toBeLessThan(280);
    takeFor(rate, clock, 10);
    expect(rate.perSecond).toBe(300);
  });

  it("finds the rate that the custody takes", () => {
    const clock = { ms: 0 };
    const rate = createSignatureRate(300, () => clock.ms);
    let second = 0;
    let inSecond = 0;
    let signed = 0;
    for (; clock.ms < 60_000; clock.ms += 5) {
      if (Math.floor(clock.ms / 1_000) > second) [second, inSecond] = [second + 1, 0];
      while (rate.take() === 0) {
        if (++inSecond > 100) rate.throttle();
        else signed++;
      }
    }
    expect(signed / 60).toBeGreaterThan(75);
  });
});
