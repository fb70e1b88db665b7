import { afterEach, describe, expect, it, vi } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { createTokenStore, type TokenStore } from "../../store/keys/tokenStore.js";
import type { Store } from "../../store/store.js";
import { createRateLimiter, type RateLimiter } from "./rateLimiter.js";
import { RateRefusal } from "./rates.js";

const limiters: RateLimiter[] = [];
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close();
  vi.useRealTimers();
});

function replica(tokenStore: TokenStore, now?: () => number): RateLimiter {
  const limiter = createRateLimiter({ tokenStore, log: silent, ...(now && { now }) });
  limiters.push(limiter);
  return limiter;
}

const keyWith = (ratePerSecond: number, rateBurst: number) => ({
  keyId: "key",
  limits: { ratePerSecond, rateBurst },
});

/** @returns the limiter's refusal; `undefined` if the transactions pass. */
async function refusal(limiter: RateLimiter, caller: ReturnType<typeof keyWith>, count: number) {
  try {
    await limiter.take(caller, count);
    return undefined;
  } catch (error) {
    if (error instanceof RateRefusal) return error;
    throw error;
  }
}

/** Creates a token store in memory, on a clock that the test moves. It counts its calls. */
function tokenStoreAt(clock: { ms: number }) {
  let available: number | undefined;
  let at = clock.ms;
  let queries = 0;
  const grow = ({ ratePerSecond, rateBurst }: { ratePerSecond: number; rateBurst: number }) => {
    const grown = (available ?? rateBurst) + ((clock.ms - at) * ratePerSecond) / 1_000;
    at = clock.ms;
    return Math.min(rateBurst, grown);
  };
  const tokenStore: TokenStore = {
    async take({ limits, needs, prefetch }) {
      queries++;
      let left = grow(limits);
      const granted = needs.map((need) => {
        if (need > left + 1e-6) return false;
        left -= need;
        return true;
      });
      const prefetched = Math.min(prefetch, Math.floor(left));
      available = left - prefetched;
      return { granted, prefetched, available };
    },
    async giveBack(_keyId, count) {
      available = (available ?? 0) + count;
    },
  };
  return { tokenStore, queries: () => queries };
}

describe("an address under a publishable key", () => {
  it("is told what it has left itself, and not how much others have used of the key", async () => {
    const clock = { ms: 0 };
    const limiter = replica(tokenStoreAt(clock).tokenStore, () => clock.ms);
    const addressRate = { ratePerSecond: 5, rateBurst: 50 };
    const from = (address: string) => ({
      ...{ ...keyWith(100, 200), address },
      publishable: { origins: ["wallets"], addressRate },
    });
    for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) await limiter.take(from(address), 50);
    await limiter.take(from("192.0.2.4"), 20);
    expect((await limiter.take(from("192.0.2.5"), 1)).state.remaining).toBe(49);
  });
});

describe("a key's rate over replicas", () => {
  it.each([
    ["one by one", 1],
    ["in small batches", 3],
    ["in large batches", 60],
  ])("holds within a tenth for requests sent %s, however they are spread over replicas", async (_, count) => {
    for (const shares of [[1], [1, 1], [9, 1], [1, 1, 1]]) {
      vi.useFakeTimers({ toFake: ["setInterval"] });
      const clock = { ms: 0 };
      const { tokenStore } = tokenStoreAt(clock);
      const caller = keyWith(100, 200);
      const replicas = shares.map(() => replica(tokenStore, () => clock.ms));
      let passed = 0;
      const stepMs = 20;
      const seconds = 30;
      for (let step = 0; step < (seconds * 1_000) / stepMs; step++) {
        for (const [i, share] of shares.entries()) {
          // The clients send three times the rate.
          const offered = (3 * 100 * stepMs * share) / 1_000 / shares.reduce((a, b) => a + b);
          for (let n = 0; n < Math.max(1, offered / count); n++) {
            const limiter = replicas[i] as RateLimiter;
            if ((await refusal(limiter, caller, count)) === undefined) passed += count;
          }
        }
        clock.ms += stepMs;
        vi.advanceTimersByTime(stepMs);
      }
      const permitted = 200 + 100 * seconds;
      expect(passed).toBeLessThanOrEqual(permitted);
      expect(passed).toBeGreaterThan(0.9 * permitted);
      vi.useRealTimers();
    }
  });

  it("gets back the tokens that another replica took in advance and left idle", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const clock = { ms: 0 };
    const { tokenStore } = tokenStoreAt(clock);
    const caller = keyWith(1, 1_000);
    const [first, second] = [replica(tokenStore, () => clock.ms), replica(tokenStore, () => clock.ms)];
    expect(await refusal(first, caller, 1)).toBeUndefined();
    // The first replica has prefetched 50 tokens.
    expect(await refusal(second, caller, 999)).toMatchObject({ state: { remaining: 949 } });
    clock.ms += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
    clock.ms += 50_000;
    expect(await refusal(second, caller, 999)).toBeUndefined();
  });

  it("follows the store's latest answer, also where that says more than this replica has counted", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const clock = { ms: 0 };
    const { tokenStore } = tokenStoreAt(clock);
    const caller = keyWith(1, 1_000);
    const [first, second] = [replica(tokenStore, () => clock.ms), replica(tokenStore, () => clock.ms)];
    expect(await refusal(first, caller, 1)).toBeUndefined();
    // The first replica has prefetched 50 tokens, and gives them back.
    expect((await second.take(caller, 900)).state.remaining).toBe(49);
    clock.ms += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await second.take(caller, 10)).state.remaining).toBe(90);
    expect(await refusal(second, caller, 90)).toBeUndefined();
    expect(await refusal(second, caller, 1)).toBeDefined();
  });

  it("needs few queries, and none while it is used up or for a rate above those that replicas share", async () => {
    const clock = { ms: 0 };
    const { tokenStore, queries } = tokenStoreAt(clock);
    const limiter = replica(tokenStore, () => clock.ms);
    const caller = keyWith(100, 200);
    for (let i = 0; i < 200; i++) expect(await refusal(limiter, caller, 1)).toBeUndefined();
    expect(queries()).toBeLessThanOrEqual(20);
    const before = queries();
    for (let i = 0; i < 1_000; i++) expect(await refusal(limiter, caller, 1)).toBeDefined();
    expect(queries()).toBe(before);
    for (let i = 0; i < 1_000; i++) await limiter.take(keyWith(100_000, 100_000), 1);
    expect(queries()).toBe(before);
  });

  it("needs one query for all requests that wait at the same time", async () => {
    const clock = { ms: 0 };
    const { tokenStore, queries } = tokenStoreAt(clock);
    const limiter = replica(tokenStore, () => clock.ms);
    const refusals = await Promise.all(
      Array.from({ length: 250 }, () => refusal(limiter, keyWith(100, 200), 1)),
    );
    expect(refusals.filter((one) => one === undefined)).toHaveLength(200);
    expect(queries()).toBeLessThanOrEqual(3);
  });

  it("reports remaining tokens and times by the use of all replicas", async () => {
    const clock = { ms: 0 };
    const { tokenStore } = tokenStoreAt(clock);
    const caller = keyWith(10, 20);
    const [first, second] = [replica(tokenStore, () => clock.ms), replica(tokenStore, () => clock.ms)];
    expect((await first.take(caller, 12)).state).toEqual({ remaining: 8, resetSeconds: 2 });
    expect((await second.take(caller, 5)).state).toEqual({ remaining: 3, resetSeconds: 2 });
    const refused = await refusal(first, caller, 8);
    expect(refused).toMatchObject({ retryAfterSeconds: 1, state: { remaining: 3, resetSeconds: 2 } });
    clock.ms += 500;
    expect(await refusal(first, caller, 8)).toBeUndefined();
  });

  it("is refunded for requests that are refused for another reason", async () => {
    const clock = { ms: 0 };
    const { tokenStore } = tokenStoreAt(clock);
    const limiter = replica(tokenStore, () => clock.ms);
    const taken = await limiter.take(keyWith(10, 20), 20);
    expect(await refusal(limiter, keyWith(10, 20), 1)).toBeDefined();
    taken.refund();
    expect(await refusal(limiter, keyWith(10, 20), 20)).toBeUndefined();
    expect(await refusal(limiter, keyWith(10, 20), 1)).toBeDefined();
  });

  it("falls back to a limit for each replica while the token store does not answer", async () => {
    const fail = () => Promise.reject(new Error("the store does not answer"));
    const limiter = replica({ take: fail, giveBack: fail }, () => 0);
    for (let i = 0; i < 4; i++) (await limiter.take(keyWith(10, 20), 5)).refund();
    for (let i = 0; i < 4; i++) expect(await refusal(limiter, keyWith(10, 20), 5)).toBeUndefined();
    expect(await refusal(limiter, keyWith(10, 20), 1)).toBeDefined();
  });
});

describe("the token store in PostgreSQL", () => {
  let store: Store;
  useTestStore("emptied", (opened) => {
    store = opened;
  });
  afterEach(async () => {
    for (const limiter of limiters.splice(0)) await limiter.close();
  });

  it("gives two replicas together as many tokens as one would get, less a tenth at most", async () => {
    // The replicas never decide alone, however long the token store takes.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    // At a token in a hundred seconds, only the burst counts.
    const caller = keyWith(0.01, 1_000);
    const replicas = [replica(createTokenStore(store)), replica(createTokenStore(store))];
    const spend = async (limiter: RateLimiter) => {
      let passed = 0;
      for (let refused = 0; refused < 3; ) {
        const counts = [1, 7, 2, 1, 30];
        const refusals = await Promise.all(counts.map((count) => refusal(limiter, caller, count)));
        passed += counts.reduce((sum, count, i) => sum + (refusals[i] === undefined ? count : 0), 0);
        if (refusals.includes(undefined)) refused = 0;
        else refused++;
      }
      return passed;
    };
    // Each replica opens its connection and gets some tokens, so that none finishes before the other begins.
    for (const limiter of replicas) await limiter.take(caller, 1);
    const [first = 0, second = 0] = await Promise.all(replicas.map(spend));
    expect(2 + first + second).toBeLessThanOrEqual(1_000);
    expect(2 + first + second).toBeGreaterThan(900);
    expect(Math.min(first, second)).toBeGreaterThanOrEqual(50);
  });

  it("follows the database's clock, and takes unused tokens back", async () => {
    const tokenStore = createTokenStore(store);
    const limits = { ratePerSecond: 0.01, rateBurst: 100 };
    const take = (needs: number[], prefetch = 0) =>
      tokenStore.take({ keyId: "key", limits, needs, prefetch });
    expect(await take([60, 60, 30], 5)).toMatchObject({ granted: [true, false, true], prefetched: 5 });
    expect(await take([6])).toMatchObject({ granted: [false] });
    await tokenStore.giveBack("key", 5);
    expect(await take([10])).toMatchObject({ granted: [true] });
    // 30 tokens have come back since.
    await store.pool.query("update key_rates set at = at - interval '3000 seconds'");
    expect(await take([31, 30], 5)).toMatchObject({ granted: [false, true], prefetched: 0 });
    await store.pool.query("update key_rates set at = at - interval '1 year'");
    expect((await take([])).available).toBe(100);
  });
});
