import { describe, expect, it } from "vitest";
import type { Behaviour } from "../behaviours/behaviour.js";
import { blockersIn, isWithoutRemedy } from "./headOfLine.js";
import { Honesty } from "./honesty.js";

const SHAPE = { endpoints: 2, replicas: 2, keys: 1, reorgDepth: 0 };
const at = (changes: Partial<Behaviour>): Behaviour => ({
  ...{
    name: "a behaviour",
    from: 1_000,
    to: null,
    share: 1,
    subject: {},
    does: { deed: "hang", when: "before" },
  },
  ...changes,
});
const honestyOf = (...behaviours: Behaviour[]) => new Honesty(behaviours, SHAPE);

describe("the honest part of a world", () => {
  it("is everybody but the sender whom a behaviour names, at every endpoint and for good", () => {
    const honesty = honestyOf(at({ subject: { sender: 2 } }));
    expect([honesty.isHonest(1), honesty.isHonest(2)]).toEqual([true, false]);
    expect(honesty.isUndisturbed).toBe(true);
  });

  it("is there while one endpoint is free", () => {
    expect(honestyOf(at({ subject: { endpoint: 0 } })).isUndisturbed).toBe(true);
  });

  it("ends while each endpoint has a trouble of its own, and begins when the first of them is over", () => {
    const honesty = honestyOf(
      at({ subject: { endpoint: 0 } }),
      at({ subject: { endpoint: 1 }, from: 2_000, to: 5_000 }),
    );
    expect([1_500, 3_000, 6_000].map((now) => honesty.honestSince(now))).toEqual([
      -Infinity,
      undefined,
      5_000,
    ]);
  });

  it("ends while no lane is open", () => {
    const drained = [
      at({ to: 6_000, does: { deed: "drain lane", waiver: 0 } }),
      at({ from: 2_000, to: 4_000, does: { deed: "drain lane", waiver: 1 } }),
    ];
    const sinceIn = (honesty: Honesty) => [1_500, 3_000, 5_000].map((now) => honesty.honestSince(now));
    expect(sinceIn(new Honesty(drained, { ...SHAPE, keys: 2 }))).toEqual([1_000, undefined, 4_000]);
    expect(sinceIn(new Honesty(drained, { ...SHAPE, keys: 3 }))).toEqual([1_000, 2_000, 2_000]);
  });

  it("does not mind lists that are too long, and look-ups of what no node has", () => {
    const error = { deed: "error", when: "after", error: { code: -32_000, message: "no" } } as const;
    const unknown = { method: "eth_getTransactionByHash", unknown: true };
    expect(
      honestyOf(
        at({ subject: { moreThan: 5 }, does: { deed: "cut", share: 0.5 } }),
        at({ subject: unknown, does: error }),
      ).isUndisturbed,
    ).toBe(true);
  });

  it("counts a clock that is wrong for good as trouble of a moment", () => {
    const step = at({ does: { deed: "clock step", replica: 0, ms: 60_000 } });
    expect(honestyOf(step).honestSince(1_001)).toBe(1_000);
  });
});

describe("the senders whose wrappers may keep a nonce", () => {
  it("are those whose wrappers no block includes, pools lose, or hang on their way to them", () => {
    const sends = { method: "eth_sendRawTransaction" };
    const reads = { method: "eth_getTransactionCount" };
    const lost = at({ subject: { sender: 1 }, does: { deed: "never include" } });
    const hung = [{ sender: 1 }, { sender: 2, ...sends }, { sender: 3, ...reads }, sends, { endpoint: 0 }];
    expect(blockersIn([lost, ...hung.map((subject) => at({ subject }))])).toBe(2);
  });

  it("leave the service no key where each that is registered may have such a nonce", () => {
    const shape = { keys: 2, pool: "keeps" } as const;
    const lost = at({ subject: { sender: 1 }, does: { deed: "never include" } });
    const revoked = at({ does: { deed: "revoke", waiver: 1 } });
    const worlds = [[lost], [lost, revoked], [revoked, { ...revoked, does: { deed: "revoke", waiver: 0 } }]];
    expect(worlds.map((behaviours) => isWithoutRemedy(behaviours as Behaviour[], shape))).toEqual([
      ...[false, true, false],
    ]);
  });
});
