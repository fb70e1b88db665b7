// One wrapper that no node takes must not hold up the others of its lane.
import type { Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices();
const OPTIONS = { requestTimeoutMs: 8_000, rpcTimeoutMs: 2_000 };
const carries = (raw: Hex, inner: Hex) => raw.includes(inner.slice(2));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function submitQuietly(service: TestService, transactions: readonly Hex[]): void {
  service.post(JSON.stringify({ transactions })).catch(() => {});
}

const POISON = innerOf(1);

describe.each(["strict", "queued"] as const)("with a %s pool, a poison", (pool) => {
  it("whose request a proxy refuses does not hold up others for ever", async () => {
    const service = await services.start(OPTIONS, { pool });
    service.node.script = ({ raws }) =>
      raws.some((raw) => carries(raw, POISON))
        ? { kind: "answer", status: 403, body: "forbidden" }
        : undefined;
    submitQuietly(service, [POISON]);
    await service.node.until(({ sent }) => sent.length >= 2);
    const lines = await service.submit([innerOf(2), innerOf(3)]);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
  }, 30_000);

  it("for whom alone the node has no room does not hold up others for ever", async () => {
    const service = await services.start(OPTIONS, { pool });
    service.node.onSends({
      kind: "error",
      of: (raw) => (carries(raw, POISON) ? { code: -32000, message: "account limit exceeded" } : undefined),
    });
    submitQuietly(service, [POISON]);
    await service.node.until(({ sent }) => sent.length >= 2);
    const lines = await service.submit([innerOf(2), innerOf(3)]);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
  }, 30_000);

  it("of an unknown error does not hold up others", async () => {
    const service = await services.start(OPTIONS, { pool });
    service.node.onSends({
      kind: "error",
      of: (raw) => (carries(raw, POISON) ? { code: -32000, message: "computer says no" } : undefined),
    });
    const began = performance.now();
    submitQuietly(service, [POISON]);
    await service.node.until(({ sent }) => sent.length >= 2);
    const lines = await service.submit([innerOf(2), innerOf(3)]);
    expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    expect(performance.now() - began).toBeLessThan(3_000);
  }, 30_000);

  it("of four alone does not open the breaker for long", async () => {
    const service = await services.start({ ...OPTIONS, requestTimeoutMs: 30_000 }, { pool });
    const poisons = [1, 2, 3, 4].map((user) => innerOf(user));
    service.node.onSends({
      kind: "error",
      of: (raw) =>
        poisons.some((one) => carries(raw, one)) ? { code: -32000, message: "computer says no" } : undefined,
    });
    submitQuietly(service, poisons);
    await pause(12_000);
    const took: number[] = [];
    for (let user = 10; user < 14; user++) {
      const began = performance.now();
      const lines = await service.submit([innerOf(user)]);
      expect(lines.map(outcomeOf)).toEqual(["success"]);
      took.push(Math.round(performance.now() - began));
      await pause(1_500);
    }
    console.log(
      pool,
      "latencies with four poisons",
      took,
      await service.query(
        "select reason, broken_until > now() as broken, broken_until - now() as left from lanes",
      ),
    );
    expect(Math.max(...took)).toBeLessThan(1_500);
  }, 90_000);

  it("with a later transaction of its sender keeps its growing pauses", async () => {
    const service = await services.start(OPTIONS, { pool });
    service.node.onSends({
      kind: "error",
      of: (raw) => (carries(raw, POISON) ? { code: -32000, message: "computer says no" } : undefined),
    });
    submitQuietly(service, [POISON, innerOf(1, 1)]);
    const began = performance.now();
    let good = 0;
    while (performance.now() - began < 8_000) {
      const lines = await service.submit([innerOf(10 + good)]);
      expect(lines.map(outcomeOf)).toEqual(["success"]);
      good++;
      await pause(100);
    }
    const tries = service.node.sent.filter((raw) => carries(raw, POISON)).length;
    const [{ rows, open }] = (await service.query<{ rows: number; open: number }>(
      "select count(*)::int as rows, count(open_for)::int as open from withdrawn",
    )) as [{ rows: number; open: number }];
    console.log(pool, { good, tries, rows, open, sent: service.node.sent.length });
    expect(hashOf(POISON)).toBeDefined();
    // 250 ms, 500 ms, 1 s, 2 s, 4 s.
    expect(tries).toBeLessThan(10);
  }, 60_000);
});
