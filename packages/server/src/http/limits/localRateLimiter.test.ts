import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLocalRateLimiter, RateExceededError } from "./localRateLimiter.js";

/** Creates a limiter with a rate of 10 a second and a burst of 20 by default, on a clock that the test moves. */
function limiterAt(rate = 10, rateBurst = 20) {
  const clock = { ms: 1_000 };
  const localLimiter = createLocalRateLimiter(() => clock.ms);
  const limits = { ratePerSecond: rate, rateBurst };
  const limiter = {
    take: (keyId: string, count: number) => localLimiter.take({ keyId, limits }, count),
    refund: (keyId: string, count: number) => localLimiter.refund({ keyId, limits }, count),
  };
  const refusal = (count: number, key = "key") => {
    try {
      limiter.take(key, count);
    } catch (error) {
      if (error instanceof RateExceededError) return error;
      throw error;
    }
    return undefined;
  };
  return { clock, limiter, refusal };
}

describe("the rate limit of an address", () => {
  it("is shared by the networks of a site, which have four times as much, and a refusal counts for none of them", () => {
    const localLimiter = createLocalRateLimiter(() => 0);
    const limits = { ratePerSecond: 1, rateBurst: 20 };
    const take = (network: number, count: number) =>
      localLimiter.take(
        { keyId: "key", address: `2001:db8:0:${network}`, site: "2001:db8:0", limits },
        count,
      );
    for (const network of [1, 2, 3]) take(network, 20);
    take(4, 15);
    expect(() => take(5, 6)).toThrow(RateExceededError);
    expect(take(5, 5)).toMatchObject({ remaining: 15 });
    expect(() => take(6, 1)).toThrow(RateExceededError);
  });
});

describe("the rate limit of a key (D22)", () => {
  it("passes a burst at once, and then nothing more", () => {
    const { limiter, refusal } = limiterAt();
    expect(limiter.take("key", 20)).toEqual({ remaining: 0, resetSeconds: 2 });
    expect(refusal(1)).toMatchObject({ reason: "RATE_EXCEEDED", retryAfterSeconds: 1 });
  });

  it("then passes one transaction in each interval", () => {
    const { clock, limiter, refusal } = limiterAt();
    limiter.take("key", 20);
    for (let i = 0; i < 50; i++) {
      clock.ms += 99;
      expect(refusal(1)).toBeDefined();
      clock.ms += 1;
      expect(refusal(1)).toBeUndefined();
    }
  });

  it("is full again after a pause, and never more than full", () => {
    const { clock, limiter } = limiterAt();
    limiter.take("key", 20);
    clock.ms += 3_600_000;
    expect(limiter.take("key", 0)).toEqual({ remaining: 20, resetSeconds: 0 });
  });

  it("refuses a batch with too few tokens whole, and takes none", () => {
    const { limiter, refusal } = limiterAt();
    limiter.take("key", 15);
    expect(refusal(6)).toMatchObject({ state: { remaining: 5 } });
    expect(limiter.take("key", 5)).toMatchObject({ remaining: 0 });
  });

  it("applies the key's own rate, and changes of it at once", () => {
    const limiter = createLocalRateLimiter(() => 0);
    const slow = { keyId: "slow", limits: { ratePerSecond: 1, rateBurst: 2 } };
    const fast = { keyId: "fast", limits: { ratePerSecond: 100, rateBurst: 500 } };
    expect(limiter.take(slow, 2)).toEqual({ remaining: 0, resetSeconds: 2 });
    expect(limiter.take(fast, 400)).toEqual({ remaining: 100, resetSeconds: 4 });
    expect(() => limiter.take(slow, 1)).toThrow(RateExceededError);
    const raised = { ...slow, limits: { ratePerSecond: 10, rateBurst: 50 } };
    // Two tokens are used, under any limits.
    expect(limiter.take(raised, 30)).toEqual({ remaining: 18, resetSeconds: 4 });
  });

  it("counts each key by itself", () => {
    const { limiter, refusal } = limiterAt();
    limiter.take("key", 20);
    expect(refusal(20, "other")).toBeUndefined();
  });

  it("gives the exact number of whole seconds after which the same request passes", () => {
    const request = fc.record({
      rate: fc.integer({ min: 1, max: 500 }),
      burst: fc.integer({ min: 1, max: 500 }),
    });
    fc.assert(
      fc.property(request, fc.nat(500), fc.nat(10_000), ({ rate, burst }, used, later) => {
        const { clock, limiter, refusal } = limiterAt(rate, burst);
        limiter.take("key", Math.min(used, burst));
        clock.ms += later / 7;
        const refused = refusal(burst);
        if (refused === undefined) return;
        const start = clock.ms;
        clock.ms = start + 1_000 * (refused.retryAfterSeconds - 1);
        if (refused.retryAfterSeconds > 1) expect(refusal(burst)).toBeDefined();
        clock.ms = start + 1_000 * refused.retryAfterSeconds;
        expect(refusal(burst)).toBeUndefined();
      }),
    );
  });

  it("never passes more than burst plus rate times time", () => {
    const steps = fc.array(fc.record({ pauseMs: fc.nat(400), count: fc.integer({ min: 1, max: 20 }) }));
    fc.assert(
      fc.property(steps, (drawnSteps) => {
        const { clock, refusal } = limiterAt();
        const start = clock.ms;
        let passed = 0;
        for (const { pauseMs, count } of drawnSteps) {
          clock.ms += pauseMs;
          if (refusal(count) === undefined) passed += count;
          expect(passed).toBeLessThanOrEqual(20 + (10 * (clock.ms - start)) / 1_000);
        }
      }),
    );
  });

  it("refunds tokens of requests that are refused for another reason", () => {
    const { limiter } = limiterAt(10, 5);
    limiter.take("key", 5);
    limiter.refund("key", 5);
    expect(limiter.take("key", 5).remaining).toBe(0);
    limiter.refund("nobody", 5);
    expect(() => limiter.take("key", 1)).toThrow(RateExceededError);
  });
});
