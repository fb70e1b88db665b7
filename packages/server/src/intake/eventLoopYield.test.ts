import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createEventLoopYield } from "./eventLoopYield.js";

/** Acquires turns of these sizes at the same time. @returns a list to which each turn adds its name when it starts. */
function acquireAll(transactionsPerTurn: number, sizes: readonly number[]): string[] {
  const eventLoop = createEventLoopYield(transactionsPerTurn);
  const started: string[] = [];
  sizes.forEach((size, i) => void eventLoop.acquire(size).then(() => started.push(`${i}: ${size}`)));
  return started;
}

describe("turns of validation", () => {
  it("start at once while no other request waits", async () => {
    const started = acquireAll(10, [100]);
    await Promise.resolve();
    expect(started).toEqual(["0: 100"]);
  });

  it("allow a number of transactions for each turn of the event loop, in the order of the requests", async () => {
    const started = acquireAll(10, [5, 5, 5, 5, 5]);
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await Promise.resolve();
      seen.push([...started]);
      await setImmediate();
    }
    const all = ["0: 5", "1: 5", "2: 5", "3: 5", "4: 5"];
    expect(seen).toEqual([all.slice(0, 2), all.slice(0, 4), all]);
  });

  it("do not divide a request that is larger than a turn", async () => {
    const started = acquireAll(10, [25, 25]);
    await Promise.resolve();
    expect(started).toEqual(["0: 25"]);
    await setImmediate();
    expect(started).toEqual(["0: 25", "1: 25"]);
  });

  it("start at once again after a pause", async () => {
    const eventLoop = createEventLoopYield(10);
    for (let i = 0; i < 3; i++) {
      let started = false;
      void eventLoop.acquire(25).then(() => {
        started = true;
      });
      await Promise.resolve();
      expect(started).toBe(true);
      await setImmediate();
      await setImmediate();
    }
  });

  it("give the keys turns, and the first parts of a key's requests turns with its later ones", async () => {
    const eventLoop = createEventLoopYield(1);
    const started: string[] = [];
    const acquire = (key: string, part: "first" | "later") =>
      eventLoop.acquire(1, key, part).then(() => started.push(`${key} ${part}`));
    const flood = ["later", "later", "later", "first"] as const;
    await Promise.all([...flood.map((part) => acquire("flood", part)), acquire("single", "first")]);
    expect(started).toEqual(["flood later", "flood later", "single first", "flood first", "flood later"]);
  });

  it("start for a key that must wait for the others when it no longer has to", async () => {
    let mustWait = true;
    const pacer = { charge() {}, mustWait: (key: string) => mustWait && key === "flood", retryMs: 1 };
    const eventLoop = createEventLoopYield(10, pacer);
    const started: string[] = [];
    const acquire = (key: string) => eventLoop.acquire(5, key).then(() => started.push(key));
    const all = [acquire("flood"), acquire("flood"), acquire("single")];
    await all[2];
    expect(started).toEqual(["single"]);
    mustWait = false;
    await Promise.all(all);
    expect(started).toEqual(["single", "flood", "flood"]);
  });

  it("let the large requests of a key leave room for its small ones", async () => {
    const waited = new Set<string>();
    const pacer = {
      charge() {},
      mustWait: (party: string) => party === "key" && waited.size < 1,
      retryMs: 1,
    };
    const eventLoop = createEventLoopYield(5, pacer);
    const started: string[] = [];
    const acquire = async (part: "small" | "first", name: string) => {
      await eventLoop.acquire(5, "key", part);
      started.push(name);
      waited.add(name);
    };
    await Promise.all([
      acquire("first", "large 1"),
      acquire("first", "large 2"),
      acquire("small", "small 1"),
      acquire("small", "small 2"),
    ]);
    expect(started[0]).toBe("small 1");
    expect(started.indexOf("small 2")).toBeLessThan(started.indexOf("large 2"));
  });
});
