import { afterEach, describe, expect, it, vi } from "vitest";
import { createReadiness, type ObservedParts, type ReadinessDependencies } from "./readiness.js";

const never = () => new Promise<never>(() => {});
const usable = { usable: 2, recovering: 0, unusable: [] };
const well: ObservedParts = {
  storeTrouble: undefined,
  chainAnswers: true,
  nodeTrouble: undefined,
  waivers: usable,
};
const ready = {
  ready: true,
  parts: { store: { ok: true }, chain: { ok: true }, waivers: { ok: true, usable: 2 } },
};

afterEach(() => {
  vi.useRealTimers();
});

/** A readiness whose parts are as `parts` says at each moment, by a clock that only `pass` moves. */
function readinessOf(changes: Partial<ReadinessDependencies> = {}) {
  vi.useFakeTimers();
  const parts = { ...well };
  const readiness = createReadiness({
    observe: () => ({ ...parts }),
    refreshLanes: async () => {},
    isShuttingDown: () => false,
    patienceMs: 5_000,
    ...changes,
  });
  return { parts, readiness, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

const STORE = { storeTrouble: "the store does not answer" };
const NODE = { chainAnswers: false };
const LANES = { waivers: { usable: 0, recovering: 1, unusable: [] } };

describe("readiness", () => {
  it("names each part", async () => {
    expect(await readinessOf().readiness.probe()).toEqual(ready);
  });

  it.each<[string, Partial<ObservedParts>, string, string]>([
    ["the store", STORE, "store", "the store does not answer"],
    ["the node", NODE, "chain", "the node cannot be used"],
    ["every lane's owner", LANES, "waivers", "no waiver takes work"],
  ])(
    "stays while %s is away for less than five seconds, and says so; goes then; comes back at once",
    async (_, trouble, name, message) => {
      const { parts, readiness, pass } = readinessOf();
      expect((await readiness.probe()).ready).toBe(true);
      Object.assign(parts, trouble);
      for (let passed = 0; passed < 5_000; passed += 500) {
        expect(await readiness.probe()).toMatchObject({
          ready: true,
          parts: { [name]: { ok: true, message } },
        });
        await pass(500);
      }
      await pass(500);
      const { ready: isReady, parts: shown } = await readiness.probe();
      const bad = Object.entries(shown).filter(([, part]) => !part.ok);
      expect([isReady, bad.map(([part, { message }]) => [part, message])]).toEqual([
        false,
        [[name, message]],
      ]);
      Object.assign(parts, well);
      expect(await readiness.probe()).toEqual(ready);
    },
  );

  it("also counts the seconds in which nobody asks, however short the trouble before", async () => {
    const { parts, readiness, pass } = readinessOf();
    Object.assign(parts, NODE);
    await pass(3_600_000);
    Object.assign(parts, well);
    await pass(500);
    Object.assign(parts, NODE);
    await pass(4_500);
    expect((await readiness.probe()).ready).toBe(true);
    await pass(1_000);
    expect((await readiness.probe()).ready).toBe(false);
  });

  it.each([
    ["before a part was well for the first time", LANES],
    ["when no lane is usable or recovering", { waivers: { ...LANES.waivers, recovering: 0 } }],
  ])("is false at once %s", async (title, trouble) => {
    const { parts, readiness } = readinessOf();
    if (!title.startsWith("before")) await readiness.probe();
    Object.assign(parts, trouble);
    expect((await readiness.probe()).ready).toBe(false);
  });

  it("is false at once while the service shuts down", async () => {
    const { readiness } = readinessOf({ isShuttingDown: () => true });
    const { ready, parts } = await readiness.probe();
    expect([ready, parts.service?.ok, parts.store.ok]).toEqual([false, false, true]);
  });

  it("names waivers that cannot be used, also beside others that can", async () => {
    const { parts, readiness } = readinessOf();
    const unusable = ["0xabc is not a registered waiver"];
    Object.assign(parts, { waivers: { usable: 1, recovering: 0, unusable } });
    expect((await readiness.probe()).parts.waivers).toEqual({ ok: true, usable: 1, message: unusable[0] });
    Object.assign(parts, { waivers: { usable: 0, recovering: 0, unusable } });
    const message = "no waiver takes work; 0xabc is not a registered waiver";
    expect((await readiness.probe()).parts.waivers).toEqual({ ok: false, usable: 0, message });
  });

  it("answers in bounded time where the store does not", async () => {
    const { readiness, pass } = readinessOf({ refreshLanes: never });
    const answer = readiness.probe();
    await pass(2_000);
    expect((await answer).ready).toBe(true);
  });

  it("reads the lanes once a second at most, however many ask and however long it takes", async () => {
    let reads = 0;
    let answer: () => void = () => {};
    const refreshLanes = () => {
      reads++;
      return new Promise<void>((resolve) => {
        answer = resolve;
      });
    };
    const { readiness, pass } = readinessOf({ refreshLanes });
    const concurrent = Promise.all(Array.from({ length: 50 }, () => readiness.probe()));
    await pass(1_500);
    const whileReading = readiness.probe();
    answer();
    expect((await concurrent).every((one) => one.ready)).toBe(true);
    await whileReading;
    await pass(999);
    await readiness.probe();
    expect(reads).toBe(1);
    await pass(1);
    const next = readiness.probe();
    answer();
    await next;
    expect(reads).toBe(2);
  });
});
