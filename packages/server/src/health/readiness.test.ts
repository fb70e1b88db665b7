import { describe, expect, it } from "vitest";
import { createReadiness } from "./readiness.js";

const never = () => new Promise<never>(() => {});
const healthy = {
  probeWaivers: async () => ({ usable: 2, unusable: [] }),
  probeChain: async () => 1n,
  isShuttingDown: () => false,
};

describe("readiness", () => {
  it("names each part", async () => {
    expect(await createReadiness(healthy).probe()).toEqual({
      ready: true,
      parts: { store: { ok: true }, chain: { ok: true }, waivers: { ok: true, usable: 2 } },
    });
  });

  it.each([
    ["the store", { probeWaivers: () => Promise.reject(new Error("host db")) }, ["store", "waivers"]],
    ["the node", { probeChain: () => Promise.reject(new Error("host node")) }, ["chain"]],
    ["a waiver", { probeWaivers: async () => ({ usable: 0, unusable: [] }) }, ["waivers"]],
    ["the store's answer", { probeWaivers: never }, ["store", "waivers"]],
    ["the node's answer", { probeChain: never }, ["chain"]],
    ["the service, which shuts down", { isShuttingDown: () => true }, ["service"]],
  ])("reports the failure of %s, in bounded time and without naming hosts", async (_, broken, expected) => {
    const answer = await createReadiness({ ...healthy, ...broken, timeoutMs: 1 }).probe();
    expect(answer.ready).toBe(false);
    const bad = Object.entries(answer.parts).filter(([, part]) => !part.ok);
    expect(bad.map(([name]) => name)).toEqual(expected);
    for (const [, part] of bad) expect(part.message).toMatch(/\w/);
    expect(JSON.stringify(answer)).not.toContain("host");
  });

  it("names waivers that cannot be used, also beside others that can", async () => {
    const unusable = ["0xabc is not a registered waiver"];
    const withOneUsable = createReadiness({
      ...healthy,
      probeWaivers: async () => ({ usable: 1, unusable }),
    });
    expect((await withOneUsable.probe()).parts.waivers).toEqual({
      ok: true,
      usable: 1,
      message: unusable[0],
    });
    const withNoneUsable = createReadiness({
      ...healthy,
      probeWaivers: async () => ({ usable: 0, unusable }),
    });
    expect((await withNoneUsable.probe()).parts.waivers).toEqual({
      ok: false,
      usable: 0,
      message: "no waiver takes work; 0xabc is not a registered waiver",
    });
  });

  it("asks store and node once a second at most, however many ask and however long it takes", async () => {
    let now = 0;
    let probes = 0;
    let answer: (height: bigint) => void = () => {};
    const probeChain = () => {
      probes++;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const readiness = createReadiness({ ...healthy, probeChain, now: () => now });
    const concurrent = Promise.all(Array.from({ length: 50 }, () => readiness.probe()));
    now = 1_500;
    const whileProbing = readiness.probe();
    answer(1n);
    expect((await concurrent).every(({ ready }) => ready)).toBe(true);
    await whileProbing;
    now = 2_499;
    await readiness.probe();
    expect(probes).toBe(1);
    now = 2_500;
    const afterCache = readiness.probe();
    answer(2n);
    await afterCache;
    expect(probes).toBe(2);
  });
});
