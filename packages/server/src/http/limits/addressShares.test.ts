import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAddressShares } from "./addressShares.js";
import { RateExceededError } from "./localRateLimiter.js";

const LIMITS = { ratePerSecond: 100, rateBurst: 200 };

/** Creates shares of 100 reads a second and 200 at once, on a clock that the test moves. */
function sharesAt() {
  const clock = { ms: 1_000 };
  const shares = createAddressShares("reads", () => clock.ms);
  const refusal = (address: string | undefined, count: number) => {
    try {
      shares.take({ keyId: "key", ...(address !== undefined && { address }), limits: LIMITS }, count);
    } catch (error) {
      if (error instanceof RateExceededError) return error;
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
