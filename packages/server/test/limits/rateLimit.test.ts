// The rate limit of an API key: 429 with its header fields (D21, D22).
import { describe, expect, it } from "vitest";
import { OTHER_API_KEY, outcomeOf, type Reply, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const body = (...transactions: string[]) => JSON.stringify({ transactions });

describe("a request above the rate", () => {
  it("gets 429 with Retry-After and the RateLimit fields, and does not affect other keys", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 100, maxBatchSize: 100 });
    const startedAt = performance.now();
    /** The possible numbers of tokens by now: one comes back in each second that has begun in the meantime. */
    const tokensFrom = (atStart: number) => {
      const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
      return new Set(Array.from({ length: seconds + 1 }, (_, refilled) => atStart + refilled));
    };
    const rateOf = ({ headers }: Reply) => {
      expect(headers["ratelimit-policy"]).toBe('"transactions";q=100;w=100');
      const [, remaining, reset] = /^"transactions";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? [];
      return { remaining: Number(remaining), resetSeconds: Number(reset) };
    };
    const first = await service.post(body(innerOf(1), innerOf(2), ...Array(58).fill("0x")));
    expect(tokensFrom(40)).toContain(rateOf(first).remaining);
    expect(tokensFrom(40)).toContain(100 - rateOf(first).resetSeconds);
    const second = await service.post(body(innerOf(3), ...Array(79).fill("0x")));
    expect(second.status).toBe(429);
    expect(JSON.parse(second.text).error).toMatchObject({ code: "RATE_LIMITED", reason: "RATE_EXCEEDED" });
    expect(tokensFrom(40)).toContain(rateOf(second).remaining);
    expect(tokensFrom(40)).toContain(80 - Number(second.headers["retry-after"]));
    expect(await service.rows()).toHaveLength(2);
    const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
    expect((await service.submit([innerOf(3), innerOf(4)], { headers })).map(outcomeOf)).toEqual([
      "success",
      "success",
    ]);
    expect((await service.submit([innerOf(5)])).map(outcomeOf)).toEqual(["success"]);
  });
});
