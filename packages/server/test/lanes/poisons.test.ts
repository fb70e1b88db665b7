// One wrapper that no node takes must not hold up the others of its lane.
import type { Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { OTHER_API_KEY, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });

/** Bounded by half of the longest pause. */
const RECOVERED_MS = 15_000;
const OPTIONS = { rpcTimeoutMs: 2_000 };
const carries = (raw: Hex, inner: Hex) => raw.includes(inner.slice(2));
const UNKNOWN_ERROR = { code: -32_000, message: "computer says no" };

function submitQuietly(service: TestService, transactions: readonly Hex[]): void {
  service.post(JSON.stringify({ transactions })).catch(() => {});
}

/** A transaction whose wrapper the node never takes. */
const POISON = innerOf(1);

describe("a transaction that a node refused while it was unwell", () => {
  it("runs as soon as the node takes others again, and does not wait for the end of its pause", async (context) => {
    const service = await services.startIn(context, OPTIONS);
    service.node.onSends({ kind: "error", of: () => UNKNOWN_ERROR });
    submitQuietly(service, [innerOf(1)]);
    await service.until("select from unfinished where state = 'queued' and signings > 1");
    // The pause of one that was set aside many times.
    await service.until(
      `update unfinished set look_at = now() + interval '30 seconds'
       where state = 'queued' and signings > 1 returning id`,
    );
    service.node.script = undefined;
    const before = performance.now();
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from submissions having bool_and(state = 'included')");
    expect(performance.now() - before).toBeLessThan(RECOVERED_MS);
  });
});

describe("transactions whose requests a proxy finds too large", () => {
  it("do not make those of another key go one by one", async () => {
    const service = await services.start({ ...OPTIONS }, { pool: "strict" });
    const poisons = Array.from({ length: 20 }, (_, user) => innerOf(100 + user));
    let requestsOfOthers = 0;
    service.node.script = ({ raws }) => {
      if (raws.some((raw) => poisons.some((one) => carries(raw, one))))
        return { kind: "answer", status: 413, body: "<h1>413 Request Entity Too Large</h1>" };
      if (raws.length > 0) requestsOfOthers++;
      return undefined;
    };
    const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
    service.post(JSON.stringify({ transactions: poisons }), { headers }).catch(() => {});
    await service.node.until(({ sent }) => sent.length >= 2 * poisons.length);
    const others = Array.from({ length: 40 }, (_, user) => innerOf(10 + user));
    expect((await service.submit(others)).map(outcomeOf)).toEqual(Array(40).fill("success"));
    expect(requestsOfOthers).toBeLessThan(others.length / 2);
  });
});

describe.concurrent.each(["strict", "queued"] as const)(
  "with a %s pool, a transaction that no node takes",
  (pool) => {
    it("because a proxy refuses its request, does not hold up others for ever", async (context) => {
      const service = await services.startIn(context, OPTIONS, { pool });
      service.node.script = ({ raws }) =>
        raws.some((raw) => carries(raw, POISON))
          ? { kind: "answer", status: 403, body: "forbidden" }
          : undefined;
      submitQuietly(service, [POISON]);
      await service.node.until(({ sent }) => sent.length >= 2);
      const lines = await service.submit([innerOf(2), innerOf(3)]);
      expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    });

    it("because its pool has no room for that sender, does not hold up others for ever", async (context) => {
      const service = await services.startIn(context, OPTIONS, { pool });
      service.node.onSends({
        kind: "error",
        of: (raw) => (carries(raw, POISON) ? { code: -32000, message: "account limit exceeded" } : undefined),
      });
      submitQuietly(service, [POISON]);
      await service.node.until(({ sent }) => sent.length >= 2);
      const lines = await service.submit([innerOf(2), innerOf(3)]);
      expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    });

    it("because of an unknown error, does not hold up others", async (context) => {
      const service = await services.startIn(context, OPTIONS, { pool });
      service.node.onSends({
        kind: "error",
        of: (raw) => (carries(raw, POISON) ? UNKNOWN_ERROR : undefined),
      });
      submitQuietly(service, [POISON]);
      await service.node.until(({ sent }) => sent.length >= 2);
      const lines = await service.submit([innerOf(2), innerOf(3)]);
      expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    });

    it("because a cache remembers the bytes that its pool does not have, holds up nobody for ever, and runs with other bytes", async (context) => {
      const service = await services.startIn(context, OPTIONS, { pool });
      const cached = new Set<Hex>();
      service.node.script = ({ raws }) => {
        const poison = raws.find((raw) => carries(raw, POISON));
        if (poison === undefined || (cached.size > 0 && !cached.has(poison))) return undefined;
        const isFirst = !cached.has(poison);
        cached.add(poison);
        const error = { code: -32_000, message: "tx already exists in cache" };
        return isFirst
          ? { kind: "reset", carriedOut: false }
          : { kind: "error", of: (raw) => (raw === poison ? error : undefined) };
      };
      const line = service.submit([POISON]);
      await service.node.until(({ sent }) => sent.length >= 2);
      const lines = await service.submit([innerOf(2), innerOf(3)]);
      expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
      expect((await line).map(outcomeOf)).toEqual(["success"]);
    });

    it("together with three more of them, does not hold up others", async (context) => {
      const service = await services.startIn(context, { ...OPTIONS }, { pool });
      const poisons = [1, 2, 3, 4].map((user) => innerOf(user));
      service.node.onSends({
        kind: "error",
        of: (raw) => (poisons.some((one) => carries(raw, one)) ? UNKNOWN_ERROR : undefined),
      });
      submitQuietly(service, poisons);
      await service.node.until(({ sent }) =>
        poisons.every((one) => sent.filter((raw) => carries(raw, one)).length >= 3),
      );
      for (const user of [10, 11, 12]) {
        expect((await service.submit([innerOf(user)])).map(outcomeOf)).toEqual(["success"]);
      }
    });

    it("together with sixty of the same key and none of another, does not hold up the other keys", async (context) => {
      const service = await services.startIn(context, { ...OPTIONS }, { pool });
      const poisons = Array.from({ length: 60 }, (_, user) => innerOf(100 + user));
      service.node.onSends({
        kind: "error",
        of: (raw) => (poisons.some((one) => carries(raw, one)) ? UNKNOWN_ERROR : undefined),
      });
      const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
      service.post(JSON.stringify({ transactions: poisons }), { headers }).catch(() => {});
      // One of them alone would be set aside each second.
      await service.node.until(({ sent }) => sent.length >= 2 * poisons.length);
      expect((await service.submit([innerOf(10)])).map(outcomeOf)).toEqual(["success"]);
    });

    it("lets others run meanwhile, and runs with its sender's later transaction once the node takes it", async (context) => {
      const service = await services.startIn(context, OPTIONS, { pool });
      service.node.onSends({
        kind: "error",
        of: (raw) => (carries(raw, POISON) ? UNKNOWN_ERROR : undefined),
      });
      submitQuietly(service, [POISON, innerOf(1, 1)]);
      await service.node.until(({ sent }) => sent.length >= 2);
      for (let user = 10; user < 40; user++) {
        expect((await service.submit([innerOf(user)])).map(outcomeOf)).toEqual(["success"]);
      }
      service.node.script = undefined;
      await service.until("select from submissions having bool_and(state = 'included')");
      expect(service.node.chain.executed).toHaveLength(32);
    });
  },
);
