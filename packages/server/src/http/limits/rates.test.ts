import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketsOf, RateRefusal, Rates } from "./rates.js";

/** Creates a limiter with a rate of 10 a second and a burst of 20 by default, on a clock that the test moves. */
function limiterAt(rate = 10, rateBurst = 20) {
  const clock = { ms: 1_000 };
  const rates = new Rates("transactions", () => clock.ms);
  const limits = { ratePerSecond: rate, rateBurst };
  const limiter = {
    take: (keyId: string, count: number) => rates.take(bucketsOf({ keyId }, limits), count),
    refund: (keyId: string, count: number) => rates.refund(bucketsOf({ keyId }, limits), count),
  };
  const refusal = (count: number, key = "key") => {
    try {
      limiter.take(key, count);
    } catch (error) {
      if (error instanceof RateRefusal) return error;
      throw error;
    }
    return undefined;
  };
  return { clock, limiter, refusal };
}

describe("the rate limit of an address", () => {
  it("is shared by the networks of a site, which have four times as much, and a refusal counts for none of them", () => {
    const rates = new Rates("transactions", () => 0);
    const limits = { ratePerSecond: 1, rateBurst: 20 };
    const take = (network: number, count: number) => {
      const caller = { keyId: "key", address: `2001:db8:0:${network}`, site: "2001:db8:0" };
      return rates.take(bucketsOf(caller, limits), count);
    };
    for (const network of [1, 2, 3]) take(network, 20);
    take(4, 15);
    expect(() => take(5, 6)).toThrow(RateRefusal);
    expect(take(5, 5)).toMatchObject({ remaining: 0 });
    expect(() => take(6, 1)).toThrow(RateRefusal);
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
    const rates = new Rates("transactions", () => 0);
    const slow = bucketsOf({ keyId: "slow" }, { ratePerSecond: 1, rateBurst: 2 });
    const fast = bucketsOf({ keyId: "fast" }, { ratePerSecond: 100, rateBurst: 500 });
    expect(rates.take(slow, 2)).toEqual({ remaining: 0, resetSeconds: 2 });
    expect(rates.take(fast, 400)).toEqual({ remaining: 100, resetSeconds: 4 });
    expect(() => rates.take(slow, 1)).toThrow(RateRefusal);
    const raised = bucketsOf({ keyId: "slow" }, { ratePerSecond: 10, rateBurst: 50 });
    // Two tokens are used, under any limits.
    expect(rates.take(raised, 30)).toEqual({ remaining: 18, resetSeconds: 4 });
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
    expect(() => limiter.take("key", 1)).toThrow(RateRefusal);
  });
});

const LIMITS = { ratePerSecond: 100, rateBurst: 200 };

/** Creates shares of 100 reads a second and 200 at once, on a clock that the test moves. */
function sharesAt() {
  const clock = { ms: 1_000 };
  const rates = new Rates("reads", () => clock.ms);
  const refusal = (address: string | undefined, count: number) => {
    try {
      const buckets = bucketsOf({ keyId: "key" }, LIMITS).map((bucket) => ({ ...bucket, part: address }));
      rates.take(buckets, count);
    } catch (error) {
      if (error instanceof RateRefusal) return error;
      throw error;
    }
    return undefined;
  };
  /** Sends single reads until one is refused. @returns those that passed. */
  const flood = (address: string | undefined) => {
    let passed = 0;
    while (refusal(address, 1) === undefined) passed++;
    return passed;
  };
  return { clock, refusal, flood };
}

describe("a key's rate among its addresses", () => {
  it("is left to the others by one that floods, while it goes on", () => {
    const { clock, refusal, flood } = sharesAt();
    expect(flood("flood")).toBe(100);
    for (let i = 0; i < 300; i++) {
      clock.ms += 100;
      flood("flood");
      // Together, six tenths of the rate.
      expect(refusal("other", 3)).toBeUndefined();
      expect(refusal(`new ${i}`, 3)).toBeUndefined();
    }
  });

  it("goes whole to an address alone, at any time but the first half of the burst", () => {
    const { clock, flood } = sharesAt();
    expect(flood("one")).toBe(100);
    let passed = 0;
    for (let i = 0; i < 100; i++) {
      clock.ms += 100;
      passed += flood("one");
    }
    expect(passed).toBeGreaterThanOrEqual(999);
  });

  it("is shared equally by all that flood, and each leaves room for one more", () => {
    const { clock, refusal, flood } = sharesAt();
    const names = ["a", "b", "c"];
    const passed = new Map(names.map((name) => [name, 0]));
    for (let i = 0; i < 1_000; i++) {
      clock.ms += 100;
      for (const name of names) passed.set(name, (passed.get(name) ?? 0) + (i < 100 ? 0 : 1) * flood(name));
    }
    for (const count of passed.values()) expect(Math.abs(count - 3_000)).toBeLessThan(30);
    expect(refusal("new", 40)).toBeUndefined();
  });

  it("is whole again for an address that has been idle, however many others have come and gone meanwhile", () => {
    const { clock, refusal } = sharesAt();
    expect(refusal("first", LIMITS.rateBurst / 2)).toBeUndefined();
    for (let visitor = 0; visitor < 300; visitor++) {
      clock.ms += 2_000 / LIMITS.ratePerSecond;
      expect(refusal(`visitor ${visitor}`, 1)).toBeUndefined();
    }
    for (const address of ["second", "third"]) expect(refusal(address, LIMITS.rateBurst / 4)).toBeUndefined();
    expect(refusal("first", LIMITS.rateBurst / 4)).toBeUndefined();
  });

  it("tells the address, or the key, that is to blame, and when the same passes", () => {
    const { clock, refusal, flood } = sharesAt();
    flood("one");
    const refused = refusal("one", 50);
    expect(refused?.message).toContain("this address's share of the key's rate of 100 reads a second");
    expect(refusal("other", 150)?.message).toMatch(/^the key's rate/);
    clock.ms += 1_000 * (refused?.retryAfterSeconds ?? 0);
    expect(refusal("one", 50)).toBeUndefined();
  });

  it("is not shared where the key has no addresses", () => {
    const { flood } = sharesAt();
    expect(flood(undefined)).toBe(200);
  });

  it("never passes more than burst plus rate times time, whoever asks", () => {
    const step = fc.record({
      pauseMs: fc.nat(400),
      address: fc.nat(4),
      count: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { clock, refusal } = sharesAt();
        const start = clock.ms;
        let passed = 0;
        for (const { pauseMs, address, count } of steps) {
          clock.ms += pauseMs;
          if (refusal(String(address), count) === undefined) passed += count;
          expect(passed).toBeLessThanOrEqual(200 + (100 * (clock.ms - start)) / 1_000 + 1e-3);
        }
      }),
    );
  });
});
